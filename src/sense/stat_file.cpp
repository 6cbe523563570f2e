#include "sense/stat_file.hpp"

namespace kymo::sense {

void StatFile::read_anew(std::int64_t now_ns) {
  constexpr std::size_t most_bytes = 1024 * 1024;
  text_ = file_.read();
  while (text_.size() == capacity_ && capacity_ < most_bytes) {
    capacity_ *= 4;
    file_ = SourceFile(file_.path(), capacity_);
    text_ = file_.read();
  }
  // A file that fails is read again by whoever comes next.
  time_ns_ = text_.empty() ? 0 : now_ns;
}

}  // namespace kymo::sense
