// A table of proc that the kernel hands out in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace kymo::sense {

/// Reads all of a file whose lines are made one by one (diskstats, vmstat, net/dev, mounts, cpuinfo): one read gives no
/// more than about a page of those. Costs one system call more than a SourceFile, which is for files that come whole.
class PagedFile {
 public:
  /// Takes at most `most_bytes` of the file; what is behind them is left out.
  explicit PagedFile(std::string path, std::size_t most_bytes = 256 * 1024);

  /// The file's content, valid until the next read; empty with error() set where it could not be read. A file that is
  /// empty reads as ENODATA.
  [[nodiscard]] std::string_view read();
  /// An errno value, kept until the next read.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// "permission denied: /proc/...": what the last read failed of.
  [[nodiscard]] std::string describe_error() const;

 private:
  std::string path_;
  std::size_t most_bytes_;
  std::vector<char> buffer_;
  base::FileDescriptor file_;
  int error_ = 0;
};

}  // namespace kymo::sense
