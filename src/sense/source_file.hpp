// A file of proc or sysfs that is opened once and read again and again.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"

namespace kymo::sense {

/// Reads with pread from a descriptor that stays open. A file that vanished, or whose device went, is opened anew at
/// the next read. Errors are errno values, kept until the next read.
class SourceFile {
 public:
  /// Takes at most `most_bytes` of the file; what is behind them is left out.
  explicit SourceFile(std::string path, std::size_t most_bytes = 16 * 1024);

  /// A table of proc whose lines are made one by one (diskstats, vmstat, net/dev, mounts, cpuinfo): one read gives no
  /// more than about a page of those, so that it takes two or more. Where no line is longer than `longest_line`, a read
  /// that leaves more room than that in its page was the last: a table of a few lines takes a single one.
  [[nodiscard]] static SourceFile of_table(std::string path, std::size_t most_bytes = default_table_bytes,
                                           std::size_t longest_line = 0);
  /// The same of lines that are made of a name of a device and some numbers.
  [[nodiscard]] static SourceFile of_counters(std::string path) {
    return of_table(std::move(path), default_table_bytes, 512);
  }

  /// The file's content, valid until the next read; empty with error() set where it could not be read. A file that is
  /// empty reads as ENODATA. Of a table no more than `enough_bytes` are read: the kernel does not make the lines
  /// behind.
  [[nodiscard]] std::string_view read(std::size_t enough_bytes = std::numeric_limits<std::size_t>::max());
  /// A file that holds one number, perhaps with blanks around it: its value; NaN where it could not be read or holds
  /// something else (error() is EBADMSG then).
  [[nodiscard]] double read_number();

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// "permission denied: /sys/...": what the last read failed of.
  [[nodiscard]] std::string describe_error() const;
  /// Opens, reads and closes at each read: for debugfs and other files that cannot be read twice.
  void reopen_each_time() { reopens_ = true; }

 private:
  [[nodiscard]] std::ptrdiff_t read_open_file();
  [[nodiscard]] std::ptrdiff_t read_table(std::size_t enough_bytes);

  static constexpr std::size_t default_table_bytes = 256 * 1024;

  std::string path_;
  std::size_t most_bytes_;
  std::size_t longest_line_ = 0;  // of a table; 0: any
  std::vector<char> buffer_;      // of a table as large as it has been so far
  base::FileDescriptor file_;
  int error_ = 0;
  bool reopens_ = false;
  bool is_table_ = false;
};

}  // namespace kymo::sense
