#include "capture/read/capture_files.hpp"

#include <algorithm>
#include <filesystem>

#include <kymo/capture.hpp>

namespace kymo::capture {

namespace fs = std::filesystem;

std::vector<std::string> captures_in(const std::string& directory, std::error_code& error) {
  std::vector<std::string> files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".kymo" && entry->is_regular_file(ignored)) {
      files.push_back(entry->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> captures_in(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> files = captures_in(directory, error);
  if (error) {
    throw CaptureError(directory, 0, "cannot list the directory: " + error.message());
  }
  return files;
}

bool is_empty_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) == 0 && !error;
}

}  // namespace kymo::capture
