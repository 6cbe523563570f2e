// A small writer of Chrome traces (Trace Event JSON) for programs that measure by themselves and only want the file.
//
//     kymo::TraceWriter trace("trace.json");
//     trace.push("load", "io", elapsed_ms, 1);
//     trace.push("step", "train", elapsed_ms, 2, {{"loss", loss}});
//     trace.flush();
//
// It needs no recorder and nothing to be enabled; scopes cost a hundredth of it. Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <kymo/argument.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// Writes complete events, {"name","cat","ph":"X","ts","dur","pid","tid","args"?}, as a bare array. Times are
/// microseconds of CLOCK_MONOTONIC, as in every trace that kymo writes.
///
/// Thread safe. About 64 KiB are held back; more goes to the file at once, so memory stays bounded. A child after fork
/// writes nothing: the file is its parent's.
class KYMO_API TraceWriter {
 public:
  /// A disabled writer: push() does nothing, no file is touched. So is one with an empty path.
  TraceWriter() noexcept;
  /// Creates the file: under a suffix (trace-1.json) where something has the name, which is never touched. A pipe or a
  /// device is written directly; it must have a reader already, and one that takes nothing for two seconds loses the
  /// rest. std::runtime_error where the file cannot be created.
  explicit TraceWriter(const std::string& path);
  /// A writer to the path that an environment variable names, disabled where it is empty, unset, or not to be trusted
  /// (secure_getenv). A path that cannot be written is said on stderr, and the writer disabled.
  [[nodiscard]] static TraceWriter from_environment(const char* variable) noexcept;
  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  /// Flushes. What goes wrong with that is said on stderr.
  ~TraceWriter();

  [[nodiscard]] bool is_enabled() const noexcept { return implementation_ != nullptr; }
  /// The process of the events that follow; 0 until it is set.
  void set_pid(std::uint64_t pid) noexcept;

  /// An event that ends now and took so long: it begins that much earlier, where the work ran. A duration that is
  /// negative or NaN counts as 0. Arguments that are NaN or infinite are left out. Text that is not UTF-8 has U+FFFD in
  /// place of such bytes. About 0.5 us, and a write each 64 KiB; when that fails it is said on stderr, and this and all
  /// later events are lost.
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid) noexcept;
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
            std::initializer_list<Argument> arguments) noexcept;
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
            const Argument* arguments, std::size_t argument_count) noexcept;

  /// Writes out every event pushed so far: the file is a whole JSON array then. Events pushed later are added to it by
  /// the next flush. Into a pipe or device, which cannot be taken back, the closing bracket goes at the end alone.
  /// std::runtime_error where the file cannot be written.
  void flush();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// The writer of the process: to the file that KYMO_TRACE_WRITER names, disabled where that is empty or unset, which is
/// read at the first call. It is flushed when the process exits; what is pushed after that is written at once.
[[nodiscard]] KYMO_API TraceWriter& trace_writer() noexcept;

/// trace_writer().flush(), with what goes wrong said on stderr; whether nothing did.
KYMO_API bool flush_trace_writer() noexcept;

}  // namespace kymo
