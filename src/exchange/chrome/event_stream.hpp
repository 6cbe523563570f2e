// The outer structure of a Chrome trace: a list of events that is valid after every event.
//
// Array:  [ \n{event},\n{event}\n]          legal without the closing bracket in every viewer
// Object: {"generator":"kymo","traceEvents":[ \n{event},\n{event}\n],"displayTimeUnit":"ns","otherData":{...}}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/output/output_file.hpp"

namespace kymo::exchange {

enum class TraceContainer { array, object };

/// The beginning of a trace in object form, by which kymo recognises its own files.
inline constexpr std::string_view chrome_trace_mark = R"({"generator":"kymo","traceEvents":[)";

/// Writes events one after another. Throws OutputError.
class EventStream {
 public:
  EventStream(base::OutputFile file, TraceContainer container);

  /// The string to which the next event's text, `{...}`, is to be appended.
  [[nodiscard]] std::string& begin_event() {
    std::string& out = file_.buffer();
    out += is_empty_ ? first_separator : separator;
    is_empty_ = false;
    return out;
  }

  /// The text that waits to be written. The last begun event is at its end.
  [[nodiscard]] std::string& pending() { return file_.buffer(); }
  /// The offset of the next event in it.
  [[nodiscard]] std::size_t position() { return file_.buffer().size(); }
  /// Reverses the order of the last events. The positions are their beginnings; the last event ends at the end.
  void reverse(const std::vector<std::size_t>& positions);

  /// Writes the text if it is long. Invalidates positions.
  void spill() { file_.spill(); }
  void flush() { file_.flush(); }

  /// Closes the list and the file. other_data is the content of the braces of otherData.
  void finish(std::string_view other_data);

  [[nodiscard]] TraceContainer container() const { return container_; }

 private:
  // Both have the same length so that events can change places.
  static constexpr std::string_view first_separator = " \n";
  static constexpr std::string_view separator = ",\n";

  base::OutputFile file_;
  TraceContainer container_;
  bool is_empty_ = true;
  std::string turned_;
};

}  // namespace kymo::exchange
