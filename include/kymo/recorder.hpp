// Turns recording on and off, controls captures and records facts about the run.
//
// Nothing here throws. All functions are thread-safe; each problem is reported once on stderr. Signal handlers may
// make every call that records an event, except those of locks and fibers, but none of the calls here. Calls that wait
// for the collector (start_capture, stop_capture, disable, trigger, flush) give up after 10 s, are no cancellation
// points, and are refused when called by a sink.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/export.hpp>
#include <kymo/nanoseconds.hpp>
#include <kymo/path.hpp>
#include <kymo/text.hpp>

namespace kymo {

/// Contents and location of a capture. The defaults match those of the environment variables.
struct CaptureOptions {
  Path path = "kymo.kymo";       ///< file, or directory (one file per process); %p %h %r %j as in KYMO_RECORD
  Nanoseconds keep_duration{};   ///< flight recorder: keep only this latest interval; zero: no time limit
  std::uint64_t keep_bytes = 0;  ///< flight recorder: limit in bytes; zero: no size limit
  std::uint64_t max_bytes = 0;   ///< above this size, scopes stop and metrics continue; zero: no limit
  Nanoseconds sync_period{};     ///< fsync interval; zero: leave it to the kernel
  std::uint64_t pool_bytes = 0;  ///< pool size if there is none yet, clamped to 1 MiB to 16 GiB; zero: 16 MiB
};

/// Starts what the KYMO_* environment variables ask for. Returns true if something is being recorded. If none of them
/// is set, costs less than a microsecond and changes nothing.
KYMO_API bool enable() noexcept;

/// Samples the machine and this process from now on, at the rates of KYMO_SAMPLE (100, 10 and 1 Hz), for whatever
/// records: a capture, a panel, a sink. enable() does so by itself if KYMO_RECORD is set. False if it runs already, if
/// all rates are 0, or if kymo::sense is neither linked nor installed. Takes some milliseconds and up to three threads.
KYMO_API bool start_sampling() noexcept;
/// Ends that sampling. stop_capture() does so as well once nothing else records, and disable().
KYMO_API void stop_sampling() noexcept;

/// Stops recording: finishes the capture and removes the sinks. enable() starts again.
KYMO_API void disable() noexcept;

/// True while events are recorded.
[[nodiscard]] KYMO_API bool is_recording() noexcept;

namespace detail {
/// `size` is the size of CaptureOptions as the calling program was built.
KYMO_API bool start_capture(const CaptureOptions& options, std::size_t size) noexcept;
}  // namespace detail

/// Starts a capture. False if it cannot be started (reported on stderr) or one is already being written. A program
/// built against an older kymo with fewer options gets the defaults of the newer ones.
inline bool start_capture(const CaptureOptions& options) noexcept {
  return detail::start_capture(options, sizeof options);
}

/// Finishes the capture with everything recorded so far. False if there is none.
KYMO_API bool stop_capture() noexcept;

/// The file of the running capture; empty if there is none.
[[nodiscard]] KYMO_API Path capture_path() noexcept;

/// Writes the contents of a flight recorder to its file and returns after the write. False if there is no such capture.
KYMO_API bool trigger() noexcept;

/// Returns after everything recorded before the call was handed to the capture and all sinks. False after 10 s.
KYMO_API bool flush() noexcept;

/// Names the calling thread's track. Cut at 256 bytes.
KYMO_API void set_thread_name(Text name) noexcept;

/// Acquires the calling thread's chunk, so that the first scope of a real-time loop does not have to. False if
/// recording is off or the pool is empty.
KYMO_API bool prepare_thread() noexcept;

/// Records a fact about the run (a model's name, a configuration). A later value of a key replaces the earlier one.
KYMO_API void set_info(Text key, Text value) noexcept;

/// Measures the current cost of a recorded scope on this machine, in nanoseconds. Takes about 2 ms of CPU.
KYMO_API double calibrate() noexcept;

/// The result of the last calibration in nanoseconds; calibrates if there was none.
[[nodiscard]] KYMO_API double empty_scope_ns() noexcept;

/// Resident memory of this process in bytes (/proc/self/statm); 0 if it cannot be read. About a microsecond.
[[nodiscard]] KYMO_API std::uint64_t current_memory_bytes() noexcept;

/// Version of the library, "0.1.0".
[[nodiscard]] KYMO_API const char* version() noexcept;

}  // namespace kymo
