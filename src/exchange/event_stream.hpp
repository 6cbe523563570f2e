// The frame of a Chrome trace: a list of events that is valid at every event's end.
//
// Array:  [ \n{event},\n{event}\n]          a file without the closing bracket is legal to every peer
// Object: {"generator":"kymo","traceEvents":[ \n{event},\n{event}\n],"displayTimeUnit":"ns","otherData":{...}}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/output_file.hpp"

namespace kymo::exchange {

enum class TraceContainer { array, object };

/// How a trace that is an object begins: so kymo knows its own.
inline constexpr std::string_view chrome_trace_mark = R"({"generator":"kymo","traceEvents":[)";

/// Writes events one after another. Errors: OutputError.
class EventStream {
 public:
  EventStream(OutputFile file, TraceContainer container);

  /// Where the next event's text, `{...}`, is to be appended.
  [[nodiscard]] std::string& begin_event() {
    std::string& out = file_.buffer();
    out += is_empty_ ? first_separator : separator;
    is_empty_ = false;
    return out;
  }

  /// The text that waits to be written; the event begun last is at its end.
  [[nodiscard]] std::string& pending() { return file_.buffer(); }
  /// Where in it the next event begins.
  [[nodiscard]] std::size_t position() { return file_.buffer().size(); }
  /// Turns the order of the last events around; they begin at these positions, the last one ends at the end.
  void reverse(const std::vector<std::size_t>& positions);

  /// Writes out what there is if it is much. Positions are void afterwards.
  void spill() { file_.spill(); }
  void flush() { file_.flush(); }

  /// Closes the list and the file; other_data is what stands inside the braces of otherData.
  void finish(std::string_view other_data);

  [[nodiscard]] TraceContainer container() const { return container_; }

 private:
  // Both of one length, so that events can change places.
  static constexpr std::string_view first_separator = " \n";
  static constexpr std::string_view separator = ",\n";

  OutputFile file_;
  TraceContainer container_;
  bool is_empty_ = true;
  std::string turned_;
};

}  // namespace kymo::exchange
