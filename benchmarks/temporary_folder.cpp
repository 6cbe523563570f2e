#include "temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace kymo::benchmarks {

TemporaryFolder::TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "kymo-bench-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("no folder could be made at " + path_ + "; set TMPDIR to one that can be written");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace kymo::benchmarks
