// What a test tells the stand-in of NVIDIA's driver, and sees of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::test {

struct FakeCuda {
  std::atomic<int> version{12040};
  std::atomic<int> devices{1};
  std::atomic<bool> has_current{true};
  std::atomic<bool> is_capturing{false};
  std::atomic<int> failure{0};  ///< what questions about events return instead
  /// Events of these streams never pass; ~0: of all but the side stream.
  std::atomic<std::uintptr_t> stuck{0};
  std::atomic<bool> is_side_stuck{false};
  std::atomic<double> rate{1};  ///< of the GPU's clock, over the processor's

  std::atomic<int> events_alive{0};
  std::atomic<int> events_recorded{0};
  std::atomic<int> streams_alive{0};
  std::atomic<int> primary_retained{0};
  std::atomic<int> pushed{0};  ///< contexts that were pushed and not popped
};

/// Of the library of that path; exported by it under the name fake_cuda.
using FakeCudaFunction = FakeCuda* (*)();

}  // namespace kymo::test
