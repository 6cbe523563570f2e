// Turning recording on and off, captures, and facts about the run.
//
// Nothing here throws. Everything may be called from any thread; trouble is said once on stderr. From signal handlers,
// scopes, arguments, messages and metrics may be recorded, and nothing else of kymo may be called. Calls that wait for
// the collector (start_capture, stop_capture, disable, trigger, flush) give up after 10 s, are no cancellation points,
// and are refused when a sink makes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kymo/export.hpp>
#include <kymo/path.hpp>

namespace kymo {

/// What a capture keeps and where. The defaults are those of the environment variables' defaults.
struct CaptureOptions {
  Path path = "kymo.kymo";  ///< file, or directory (each process its own file); %p %h %r %j as in KYMO_RECORD
  std::chrono::nanoseconds keep_duration{0};  ///< flight recorder: keep only the last stretch; zero: no bound in time
  std::uint64_t keep_bytes = 0;               ///< flight recorder: and at most this much; zero: no bound in size
  std::uint64_t max_bytes = 0;                ///< past this size scopes stop and metrics go on; zero: no bound
  std::chrono::nanoseconds sync_period{0};    ///< fsync this often; zero: leave it to the kernel
  std::uint64_t pool_bytes = 0;               ///< size of the pool where it does not exist yet; zero: 16 MiB
};

/// Arms what the KYMO_* environment variables ask for; true when something is recorded now. Without any of them set it
/// costs less than a microsecond and changes nothing.
KYMO_API bool enable() noexcept;

/// Stops recording: the capture is finished, sinks are removed. enable() starts anew.
KYMO_API void disable() noexcept;

/// True while events are recorded.
[[nodiscard]] KYMO_API bool is_recording() noexcept;

namespace detail {
/// `size` is what the calling program knows of the options.
KYMO_API bool start_capture(const CaptureOptions& options, std::size_t size) noexcept;
}  // namespace detail

/// Starts a capture. False when it could not be started (said on stderr) or one is being written already. A program
/// that was built against an older kymo, with fewer options, gets the defaults of those that it does not know.
inline bool start_capture(const CaptureOptions& options) noexcept {
  return detail::start_capture(options, sizeof options);
}

/// Finishes the capture: everything recorded until now is in it. False when there is none.
KYMO_API bool stop_capture() noexcept;

/// The file that the running capture is written to; empty when there is none.
[[nodiscard]] KYMO_API Path capture_path() noexcept;

/// Writes what a flight recorder holds to its file, and returns after the write. False when there is no such capture.
KYMO_API bool trigger() noexcept;

/// Returns after everything recorded before the call was handed to the capture and every sink. False after 10 s.
KYMO_API bool flush() noexcept;

/// Names the calling thread's track. Cut at 256 bytes.
KYMO_API void set_thread_name(std::string_view name) noexcept;

/// Takes the calling thread's chunk now, so that a real-time loop's first scope does not have to. False where recording
/// is off or the pool is empty.
KYMO_API bool prepare_thread() noexcept;

/// Records a fact about the run (a model's name, a configuration). A later value of a key replaces the earlier one.
KYMO_API void set_info(std::string_view key, std::string_view value) noexcept;

/// Measures what a recorded scope costs on this machine now, in nanoseconds. Takes about 2 ms of CPU.
KYMO_API double calibrate() noexcept;

/// What the last calibration measured, in nanoseconds; calibrates when there was none.
[[nodiscard]] KYMO_API double empty_scope_ns() noexcept;

/// Resident memory of this process in bytes (/proc/self/statm); 0 where it cannot be read. About a microsecond.
[[nodiscard]] KYMO_API std::uint64_t current_memory_bytes() noexcept;

/// The library's version, "0.1.0".
[[nodiscard]] KYMO_API const char* version() noexcept;

}  // namespace kymo
