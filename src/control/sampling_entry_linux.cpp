#include "control/sampling_entry.hpp"

// Defined where the program links kymo::sense itself.
#pragma weak kymo_start_sampling_v1
#pragma weak kymo_stop_sampling_v1
#pragma weak kymo_forget_sampling_v1

namespace kymo::control {

SamplingEntry linked_sampling() noexcept {
  return {kymo_start_sampling_v1, kymo_stop_sampling_v1, kymo_forget_sampling_v1};
}

}  // namespace kymo::control
