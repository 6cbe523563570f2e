// What libkymo asks of an operating system or a browser: linux.cpp, macos.cpp and emscripten.cpp define it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sense/sampler/entry.hpp"
#include "threads/states/entry.hpp"

namespace kymo::control {

/// Facts for a capture's header. Texts are empty if they cannot be read.
struct SystemFacts {
  std::string command_line;                                 ///< arguments, separated by spaces
  std::string executable;                                   ///< the executable's path
  std::string build_id;                                     ///< of the executable, in hexadecimal digits
  std::string cpu;                                          ///< the processor's model
  std::vector<std::pair<std::string, std::string>> others;  ///< further facts with their keys
};

/// Reads the facts again. Thread-safe; takes some file reads or system calls.
[[nodiscard]] SystemFacts read_system_facts();

/// Connects to the socket of `kymo record`, which holds the spools of its processes that found no room in tmpfs; -1 if
/// there is none.
[[nodiscard]] int connect_to_holder(const std::string& path);

/// libkymo's entry to kymo::sense.
struct SamplingEntry {
  decltype(&kymo_start_sampling_v1) start = nullptr;
  decltype(&kymo_stop_sampling_v1) stop = nullptr;
  decltype(&kymo_forget_sampling_v1) forget = nullptr;
  // None where there are no run states.
  decltype(&kymo_begin_states_v1) begin_states = nullptr;
  decltype(&kymo_take_states_v2) take_states = nullptr;
  decltype(&kymo_forget_states_v1) forget_states = nullptr;
};

/// The functions if the program itself links kymo::sense; otherwise null pointers.
[[nodiscard]] SamplingEntry linked_sampling() noexcept;

}  // namespace kymo::control
