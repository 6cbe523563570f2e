// A capture that a benchmark records into, and the proof that nothing in it went missing unsaid.
#pragma once

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "temporary_folder.hpp"

namespace kymo::benchmarks {

/// What a capture says it holds.
struct Recorded {
  std::uint64_t scopes = 0;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  std::uint64_t bytes = 0;             ///< of the file
  std::uint64_t collector_cpu_ns = 0;  ///< since this capture began
  // Counted one by one where that was asked for.
  std::uint64_t arguments = 0;
  std::uint64_t frame_marks = 0;
  std::uint64_t samples = 0;  ///< without those that the recorder adds to frames
};

/// Records into a capture in a temporary folder, with the default pool, from construction to finish(). One at a time.
class Recording {
 public:
  /// Throws std::runtime_error where no capture can be started.
  Recording();
  ~Recording();

  /// Ends the capture and reads its closing words; with `counts_events` all of it.
  Recorded finish(bool counts_events = false);

 private:
  TemporaryFolder folder_;
  std::string path_;
  bool is_running_ = true;
};

/// Adds the counters issued, recorded and dropped to a benchmark, and fails it where recorded + dropped != issued.
void account(benchmark::State& state, std::uint64_t issued, std::uint64_t recorded, std::uint64_t dropped);

}  // namespace kymo::benchmarks
