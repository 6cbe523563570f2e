// How libkymo reaches kymo::sense.
#pragma once

#include "sense/entry.hpp"

namespace kymo::control {

struct SamplingEntry {
  decltype(&kymo_start_sampling_v1) start = nullptr;
  decltype(&kymo_stop_sampling_v1) stop = nullptr;
  decltype(&kymo_forget_sampling_v1) forget = nullptr;
};

/// Where the program links kymo::sense itself; null pointers where it does not.
[[nodiscard]] SamplingEntry linked_sampling() noexcept;

}  // namespace kymo::control
