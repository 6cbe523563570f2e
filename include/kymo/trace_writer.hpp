// A small writer of Chrome traces (Trace Event JSON) for programs that do their own measuring.
//
//     kymo::TraceWriter trace("trace.json");
//     trace.push("load", "io", elapsed_ms, 1);
//     trace.push("step", "train", elapsed_ms, 2, {{"loss", loss}});
//     trace.push_at("request", "http", arrived_us, elapsed_ms, 3);     // arrived_us was trace.now_us() then
//     trace.flush();
//
// Needs no recorder and no enabling. Scopes cost a hundredth of it. Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/argument.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// How a TraceWriter writes numbers.
struct TraceWriterOptions {
  /// Writes `ts` and `dur` as whole microseconds, rounded to the nearest, for readers that refuse decimals. Otherwise
  /// they have up to three decimals, exact to the nanosecond.
  bool whole_microseconds = false;
  /// The time of CLOCK_MONOTONIC at which `ts` is 0; by default the writer's creation. 0 gives the times of the other
  /// traces that kymo writes.
  std::optional<std::int64_t> epoch_ns;
};

/// Writes complete events, {"name","cat","ph":"X","ts","dur","pid","tid","args"?}, as a bare array. `ts` is in
/// microseconds since the writer's creation; what began earlier is written at 0, with its whole duration.
///
/// Thread-safe. Buffers about 64 KiB and writes the rest to the file, so memory is bounded. A child after fork writes
/// nothing: the file belongs to its parent.
class KYMO_API TraceWriter {
 public:
  /// A disabled writer: push() does nothing, no file is touched. An empty path also gives a disabled writer.
  TraceWriter() noexcept;
  /// Creates the file. If the name is taken, adds a suffix (trace-1.json) and leaves the existing file untouched. A
  /// pipe or device is written directly. It must already have a reader; a reader that takes nothing for two seconds
  /// loses the rest. Throws std::runtime_error if the file cannot be created.
  explicit TraceWriter(const std::string& path, const TraceWriterOptions& options = {});
  /// A writer to the path in an environment variable. Disabled if the variable is empty, unset or not trusted
  /// (secure_getenv). If the path cannot be written, reports it on stderr and returns a disabled writer.
  [[nodiscard]] static TraceWriter from_environment(const char* variable,
                                                    const TraceWriterOptions& options = {}) noexcept;
  /// The same for variables that the caller has: the first of that name counts.
  [[nodiscard]] static TraceWriter from_env_vars(const std::vector<std::pair<std::string, std::string>>& variables,
                                                 std::string_view variable = "KYMO_TRACE_WRITER",
                                                 const TraceWriterOptions& options = {}) noexcept;
  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  /// Flushes. Errors are reported on stderr.
  ~TraceWriter();

  [[nodiscard]] bool is_enabled() const noexcept { return implementation_ != nullptr; }
  /// Sets the process id of the events that follow; 0 by default.
  void set_pid(std::uint64_t pid) noexcept;

  /// Adds an event that ends now and starts `duration_ms` earlier. A negative or NaN duration counts as 0. Arguments
  /// that are NaN or infinite are left out. Bytes that are not UTF-8 become U+FFFD. About 0.5 us, plus one write per 64
  /// KiB. If a write fails, this is reported on stderr, and this and all later events are lost.
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid) noexcept;
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
            std::initializer_list<Argument> arguments) noexcept;
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
            const Argument* arguments, std::size_t argument_count) noexcept;

  /// Adds an event that began at `start_us`, a time of now_us(). A start before 0, or NaN, counts as 0. Otherwise as
  /// push().
  void push_at(std::string_view name, std::string_view category, double start_us, double duration_ms, std::uint64_t tid,
               std::initializer_list<Argument> arguments = {}) noexcept;
  /// The time now, in the microseconds of `ts`; 0 if the writer is disabled.
  [[nodiscard]] double now_us() const noexcept;

  /// Writes out all events pushed so far; the file is then a complete JSON array. The next flush appends later events.
  /// In a pipe or device, which cannot be rewritten, the closing bracket is written only at the end. Throws
  /// std::runtime_error if the file cannot be written.
  void flush();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// The writer of the process, to the file named by KYMO_TRACE_WRITER; disabled if that is empty or unset. The variable
/// is read at the first call. The writer is flushed when the process exits; events pushed after that are written
/// immediately.
[[nodiscard]] KYMO_API TraceWriter& trace_writer() noexcept;

/// Calls trace_writer().flush() and reports errors on stderr. Returns true on success.
KYMO_API bool flush_trace_writer() noexcept;

}  // namespace kymo
