#include "exchange/chrome/event_stream.hpp"

namespace kymo::exchange {

EventStream::EventStream(base::OutputFile file, TraceContainer container)
    : file_(std::move(file)), container_(container) {
  file_.buffer() += container_ == TraceContainer::array ? "[" : chrome_trace_mark;
}

void EventStream::reverse(const std::vector<std::size_t>& positions) {
  if (positions.size() < 2) {
    return;
  }
  std::string& out = file_.buffer();
  turned_.clear();
  std::size_t end = out.size();
  for (std::size_t i = positions.size(); i > 0; --i) {
    if (!turned_.empty()) {
      turned_ += separator;
    }
    const std::size_t begin = positions[i - 1] + separator.size();
    turned_.append(out, begin, end - begin);
    end = positions[i - 1];
  }
  out.replace(positions.front() + separator.size(), std::string::npos, turned_);
}

void EventStream::finish(std::string_view other_data) {
  std::string& out = file_.buffer();
  out += "\n]";
  if (container_ == TraceContainer::object) {
    out += ",\"displayTimeUnit\":\"ns\",\"otherData\":{";
    out += other_data;
    out += "}}";
  }
  out += '\n';
  file_.close();
}

}  // namespace kymo::exchange
