// A folder for a benchmark's captures.
#pragma once

#include <string>

namespace kymo::benchmarks {

/// A new folder in $TMPDIR or /tmp, deleted with its content by the destructor. Throws std::runtime_error.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace kymo::benchmarks
