// What tests and the stand-in of NVIDIA's library share. The stand-in has two GPUs; its clock is set by the test, and
// GPUs make new values every 100 ms of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::test {

/// Calls that can be told to fail.
enum class FakeCall : unsigned {
  init,
  count,
  handle,
  utilization,
  memory,
  memory_v2,
  processes,
  graphics_processes,
  power,
  instant_power,
  average_power,
  energy,
  temperature,
  clock,
  pcie,
  encoder,
  decoder,
  clock_reasons,
  fan,
  memory_temperature,
  power_limit,
  performance_state,
  memory_errors,
  events,
  links,
  shares,
  units,
  calls
};

constexpr unsigned fake_gpus = 2;
constexpr std::int64_t fake_renewal_ms = 100;

struct FakeNvml {
  std::atomic<std::int64_t> now_ms{};
  std::atomic<int> error[fake_gpus][static_cast<unsigned>(FakeCall::calls)] = {};  // calls that have a GPU
  std::atomic<int> general_error{};                                                // of init and count
  std::atomic<unsigned> architecture{};
  std::atomic<unsigned> process{};           // one that computes on GPU 1
  std::atomic<unsigned> graphics_process{};  // one that draws with it
  std::atomic<unsigned> other_processes{};   // more of them, on each GPU
  std::atomic<bool> has_huge_values{};
  std::atomic<unsigned> share{};                  // of the process that computes on GPU 1, in percent; 0: no samples
  std::atomic<unsigned long long> share_time{};   // of its newest sample, microseconds since 1970
  std::atomic<unsigned long long> error_event{};  // the number of the next critical error of GPU 0; 0: none
  std::atomic<int> open_events{};                 // sets created less those freed
  std::atomic<int> open_samples{};                // of the units' counters, likewise
  std::atomic<bool> is_shared_out{};              // GPU 1 has instances 0 and 2
  std::atomic<int> initialised{};                 // initialisations less shutdowns
  std::atomic<int> initialisations{};
  std::atomic<std::int64_t> cpu_ns{};          // CPU time that all calls have taken
  std::atomic<std::int64_t> energy_cost_ns{};  // what the energy counter takes of it

  /// For a test to begin with: a library that was closed may stay in memory.
  void reset() {
    for (auto& gpu : error) {
      for (auto& call : gpu) {
        call = 0;
      }
    }
    now_ms = 0;
    general_error = 0;
    architecture = 9;
    process = 0;
    graphics_process = 0;
    other_processes = 0;
    has_huge_values = false;
    share = 0;
    share_time = 0;
    error_event = 0;
    open_events = 0;
    open_samples = 0;
    is_shared_out = false;
    initialised = 0;
    initialisations = 0;
    cpu_ns = 0;
    energy_cost_ns = 0;
  }
  void fail(unsigned gpu, FakeCall call, int code) { error[gpu][static_cast<unsigned>(call)] = code; }
};

/// What a GPU makes anew every 100 ms: the number of the last time.
[[nodiscard]] constexpr std::int64_t fake_renewals(std::int64_t now_ms) {
  return now_ms / fake_renewal_ms;
}

/// The name of the function that gives the FakeNvml, for dlsym.
constexpr const char* fake_control_name = "kymo_fake_nvml";
using FakeControl = FakeNvml* (*)();

}  // namespace kymo::test
