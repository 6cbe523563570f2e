// A capture for a benchmark's events, and the check that every loss is stated in it.
#pragma once

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "temporary_folder.hpp"

namespace kymo::benchmarks {

/// Contents of a capture according to itself.
struct Recorded {
  std::uint64_t scopes = 0;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  std::uint64_t bytes = 0;             ///< of the file
  std::uint64_t collector_cpu_ns = 0;  ///< since this capture began
  // Counted one by one on request.
  std::uint64_t arguments = 0;
  std::uint64_t frame_marks = 0;
  std::uint64_t samples = 0;  ///< without those that the recorder adds to frames
};

/// Records into a capture in a temporary folder, with the default pool, from construction to finish(). One at a time.
class Recording {
 public:
  /// Throws std::runtime_error if no capture can be started.
  Recording();
  ~Recording();

  /// Ends the capture and reads its closing words; with `counts_events` all of it.
  Recorded finish(bool counts_events = false);

 private:
  TemporaryFolder folder_;
  std::string path_;
  bool is_running_ = true;
};

/// Adds the counters issued, recorded and dropped to a benchmark, and fails it if recorded + dropped != issued.
void account(benchmark::State& state, std::uint64_t issued, std::uint64_t recorded, std::uint64_t dropped);

}  // namespace kymo::benchmarks
