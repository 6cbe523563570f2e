#include "threads/symbols/perf_map.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "threads/symbols/file_parts.hpp"

namespace kymo::threads {

PerfMap PerfMap::of_process(std::uint32_t pid) {
  const std::string number = std::to_string(pid);
  struct stat process {};
  const bool is_there = ::stat(("/proc/" + number).c_str(), &process) == 0;
  return {"/tmp/perf-" + number + ".map", is_there ? process.st_uid : ::geteuid()};
}

const std::string* PerfMap::find(std::uint64_t address) {
  const std::string* name = look_up(address);
  if (name == nullptr && read_more()) {
    name = look_up(address);
  }
  return name;
}

const std::string* PerfMap::look_up(std::uint64_t address) const {
  const auto after =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [](std::uint64_t wanted, const Function& function) { return wanted < function.begin; });
  return after != functions_.begin() && address < std::prev(after)->end ? &std::prev(after)->name : nullptr;
}

/// Whether there is more.
bool PerfMap::read_more() {
  struct stat status {};
  const base::FileDescriptor file = open_regular(path_, status, O_NOFOLLOW);
  if (!file || status.st_uid != owner_) {
    return false;
  }
  const std::uint64_t size = std::min(static_cast<std::uint64_t>(status.st_size), most_bytes);
  if (size <= done_bytes_) {
    return false;
  }
  std::vector<char> part(std::size_t{1} << 16U);
  std::string line;
  bool is_too_long = false;
  std::uint64_t at = done_bytes_;
  while (at < size) {
    const std::int64_t count = base::read_fully_at(file.get(), std::as_writable_bytes(std::span(part)), at);
    if (count <= 0) {
      break;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      ++at;
      const char character = part[static_cast<std::size_t>(i)];
      if (character != '\n') {
        is_too_long = is_too_long || line.size() == most_name_bytes + 2 * 17;
        line += is_too_long ? std::string() : std::string(1, character);
        continue;
      }
      if (!is_too_long) {
        take_line(line);
      }
      line.clear();
      is_too_long = false;
      done_bytes_ = at;  // a line that is being written is read again
    }
  }
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const Function& a, const Function& b) { return a.begin < b.begin; });
  // The last of those with one begin.
  const auto last = std::unique(functions_.rbegin(), functions_.rend(),
                                [](const Function& a, const Function& b) { return a.begin == b.begin; });
  functions_.erase(functions_.begin(), last.base());
  return true;
}

void PerfMap::take_line(const std::string& line) {
  Function function;
  std::uint64_t size = 0;
  const char* const end = line.data() + line.size();
  const auto [after_begin, begin_error] = std::from_chars(line.data(), end, function.begin, 16);
  if (begin_error != std::errc{} || after_begin == end || *after_begin != ' ') {
    return;
  }
  const auto [after_size, size_error] = std::from_chars(after_begin + 1, end, size, 16);
  if (size_error != std::errc{} || after_size == end || *after_size != ' ' || functions_.size() == most_functions) {
    return;
  }
  function.name.assign(after_size + 1, end);
  function.end = function.begin + size;
  if (function.end > function.begin && !function.name.empty()) {
    functions_.push_back(std::move(function));
  }
}

}  // namespace kymo::threads
