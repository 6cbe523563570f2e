// Names of code that a program compiled while it ran, as it writes them to /tmp/perf-PID.map (Python's -X perf, node
// --perf-basic-prof, Java agents).
//
//   line := address ' ' size ' ' name '\n'        both in hex
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace kymo::threads {

/// One process's map. Reads what is new in the file when an address is not found in what was read. Trusts nothing in
/// it. One thread.
class PerfMap {
 public:
  static constexpr std::size_t most_functions = std::size_t{1} << 20U;
  static constexpr std::size_t most_name_bytes = 1024;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28U;

  /// A file that is not `owner`'s, no regular one, or reached by a link, has no names.
  PerfMap(std::string path, uid_t owner) : path_(std::move(path)), owner_(owner) {}
  /// The map of a process that may have ended.
  [[nodiscard]] static PerfMap of_process(std::uint32_t pid);

  /// The name of the function at an address, valid until the next call; null if it has none. Of several the latest
  /// written. 0.1 us, and a stat of the file where nothing is found.
  [[nodiscard]] const std::string* find(std::uint64_t address);

 private:
  struct Function {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string name;
  };

  [[nodiscard]] const std::string* look_up(std::uint64_t address) const;
  [[nodiscard]] bool read_more();
  void take_line(const std::string& line);

  std::string path_;
  uid_t owner_;
  std::uint64_t done_bytes_ = 0;
  std::vector<Function> functions_;  // by ascending begin; of one begin the latest only
};

}  // namespace kymo::threads
