#include "exchange/replacing_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kymo::exchange {
namespace {

/// A new file beside the one it will replace; removed again unless it is kept.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {
    for (unsigned attempt = 0;; ++attempt) {
      new_path_ = path + ".new-" + std::to_string(::getpid()) + '-' + std::to_string(attempt);
      file_ = base::FileDescriptor(::open(new_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file_) {
        return;
      }
      if (errno != EEXIST || attempt == 1000) {
        throw OutputError(base::describe_errno("cannot create", new_path_, errno));
      }
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!new_path_.empty()) {
      ::unlink(new_path_.c_str());
    }
  }

  /// The open file; messages name it by its final path.
  [[nodiscard]] OutputFile take() { return {std::move(file_), path_}; }

  void keep() {
    if (std::rename(new_path_.c_str(), path_.c_str()) != 0) {
      throw OutputError(base::describe_errno("cannot replace", path_, errno));
    }
    new_path_.clear();
  }

 private:
  std::string path_;
  std::string new_path_;
  base::FileDescriptor file_;
};

/// Where a path leads; the path itself where nothing is there.
std::string resolve(const std::string& path) {
  char* const found = ::realpath(path.c_str(), nullptr);
  if (found == nullptr) {
    return path;
  }
  std::string resolved = found;
  std::free(found);
  return resolved;
}

/// What a path means that names an open descriptor of this process: the file behind it is not ours to replace.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") {
    return STDOUT_FILENO;
  }
  if (path == "/dev/stderr") {
    return STDERR_FILENO;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = 0;
    const std::string_view digits = path.substr(std::min(path.size(), folder.size()));
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (path.substr(0, folder.size()) == folder && parsed.ec == std::errc() && number >= 0 &&
        parsed.ptr == digits.data() + digits.size()) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

void replace_file(const std::string& path, const std::function<void(OutputFile)>& write) {
  if (const std::optional<int> open_already = descriptor_of(path)) {
    base::FileDescriptor same(::fcntl(*open_already, F_DUPFD_CLOEXEC, 0));
    if (!same) {
      throw OutputError(base::describe_errno("cannot write to", path, errno));
    }
    write(OutputFile(std::move(same), path));
    return;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    write(OutputFile::create(path));
    return;
  }
  NewFile file(resolve(path));
  write(file.take());
  file.keep();
}

}  // namespace kymo::exchange
