// A file of proc or sysfs that is opened once and read repeatedly.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "base/system/file.hpp"

namespace kymo::sense {

/// Room for a file that holds one number.
inline constexpr std::size_t number_bytes = 64;

/// Reads with pread from a descriptor that stays open. A file that vanished, or whose device did, is reopened at the
/// next read. Errors are errno values, kept until the next read.
class SourceFile {
 public:
  /// Reads at most `most_bytes` of the file and ignores the rest.
  explicit SourceFile(std::string path, std::size_t most_bytes = 16 * 1024);

  /// A table of proc whose lines are generated one by one (diskstats, vmstat, net/dev, mounts, cpuinfo). A read returns
  /// at most about a page, so the whole table takes two or more reads. If no line is longer than `longest_line`, a read
  /// that leaves more room than that in its page was the last one: a table of a few lines takes a single read.
  [[nodiscard]] static SourceFile of_table(std::string path, std::size_t most_bytes = default_table_bytes,
                                           std::size_t longest_line = 0);
  /// The same for lines with a device name and some numbers.
  [[nodiscard]] static SourceFile of_counters(std::string path) {
    return of_table(std::move(path), default_table_bytes, 512);
  }

  /// The file's content, valid until the next read; empty with error() set if it could not be read. An empty file reads
  /// as ENODATA. At most `enough_bytes` of a table are read, so the kernel does not generate the lines after them.
  [[nodiscard]] std::string_view read(std::size_t enough_bytes = std::numeric_limits<std::size_t>::max());
  /// The value of a file with one number and optional blanks around it; NaN if it could not be read or holds anything
  /// else (error() is then EBADMSG).
  [[nodiscard]] double read_number();

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The error of the last read: "permission denied: /sys/...".
  [[nodiscard]] std::string describe_error() const;
  /// Reopens the file for each read, as needed for debugfs and other files that cannot be read twice.
  void reopen_each_time() { reopens_ = true; }

 private:
  [[nodiscard]] std::ptrdiff_t read_open_file();
  [[nodiscard]] std::ptrdiff_t read_table(std::size_t enough_bytes);

  static constexpr std::size_t default_table_bytes = 256 * 1024;

  std::string path_;
  std::size_t most_bytes_;
  std::size_t longest_line_ = 0;  // of a table; 0: unknown
  // For a table as large as it has been so far. Only the pages that a file has filled take memory.
  std::vector<char, detail::UninitializedAllocator<char>> buffer_;
  base::KnownFile file_;
  int error_ = 0;
  bool reopens_ = false;
  bool is_table_ = false;
};

}  // namespace kymo::sense
