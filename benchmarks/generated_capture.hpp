// A capture of the seeded generator's scopes, for benchmarks of readers.
#pragma once

#include <cstdint>
#include <string>

#include "temporary_folder.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

/// Written by the constructor, deleted by the destructor.
class GeneratedCapture {
 public:
  explicit GeneratedCapture(std::uint64_t scopes);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Includes scopes that are open at the end.
  [[nodiscard]] std::uint64_t scopes() const { return writing_.count; }
  /// CPU time of writing a scope.
  [[nodiscard]] double writing_ns() const { return writing_.cpu_each_ns(); }
  /// For a file with the same scopes.
  [[nodiscard]] double bytes_per_scope(const std::string& path) const;
  /// A path in the capture's folder.
  [[nodiscard]] std::string beside(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  std::string path_;
  Cost writing_;
};

}  // namespace kymo::benchmarks
