// A folder for a benchmark's captures.
#pragma once

#include <string>

namespace kymo::benchmarks {

/// A folder of its own in $TMPDIR, or /tmp; deleted with everything in it at the end. Throws std::runtime_error.
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
