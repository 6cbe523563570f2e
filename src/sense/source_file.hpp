// A file of proc or sysfs that is opened once and read again and again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
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
  /// more than about a page of those, so that it takes two or more.
  [[nodiscard]] static SourceFile of_table(std::string path, std::size_t most_bytes = 256 * 1024);

  /// The file's content, valid until the next read; empty with error() set where it could not be read. A file that is
  /// empty reads as ENODATA.
  [[nodiscard]] std::string_view read();
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
  [[nodiscard]] std::ptrdiff_t read_to_end();

  std::string path_;
  std::size_t most_bytes_;
  std::vector<char> buffer_;  // of a table as large as it has been so far
  base::FileDescriptor file_;
  int error_ = 0;
  bool reopens_ = false;
  bool is_table_ = false;
};

}  // namespace kymo::sense
