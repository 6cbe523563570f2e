#include "base/output/replacing_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kymo::base {
namespace {

constexpr std::size_t marked_bytes = 512;

std::optional<struct stat> look_at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

/// A new file next to the one it will replace. Deleted unless it is kept.
class PendingFile {
 public:
  PendingFile(const std::string& path, const std::optional<struct stat>& old) : path_(path), is_first_(!old) {
    const mode_t mode = old ? old->st_mode & 0777U : 0666U;
    for (unsigned attempt = 0;; ++attempt) {
      new_path_ = path + ".new-" + std::to_string(::getpid()) + '-' + std::to_string(attempt);
      file_ = FileDescriptor(::open(new_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      if (file_) {
        break;
      }
      if (errno != EEXIST || attempt == 1000) {
        throw OutputError(describe_errno("cannot create", new_path_, errno));
      }
    }
    if (old) {
      // It may be private to its owner, or root may be replacing another user's file.
      [[maybe_unused]] const int owner = ::fchown(file_.get(), old->st_uid, old->st_gid);
      [[maybe_unused]] const int access = ::fchmod(file_.get(), mode);
    }
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile() {
    if (!new_path_.empty()) {
      ::unlink(new_path_.c_str());
    }
  }

  /// The open file; messages name it by its final path.
  [[nodiscard]] OutputFile take() { return {std::move(file_), path_}; }

  void keep() {
    if (is_first_) {
      // Unlike a rename, a link does not overwrite a file created in the meantime. Some file systems lack links.
      if (::link(new_path_.c_str(), path_.c_str()) == 0) {
        return;
      }
      if (errno == EEXIST) {
        throw OutputError("cannot write: " + path_ + ": something is there now that was not there before");
      }
    }
    if (std::rename(new_path_.c_str(), path_.c_str()) != 0) {
      throw OutputError(describe_errno("cannot replace", path_, errno));
    }
    new_path_.clear();
  }

 private:
  std::string path_;
  std::string new_path_;
  FileDescriptor file_;
  bool is_first_;
};

bool has_mark(const std::string& path, std::string_view mark) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<std::byte, marked_bytes> first{};
  const std::int64_t count = file ? read_fully_at(file.get(), first, 0) : -1;
  return count > 0 && !mark.empty() &&
         std::string_view(reinterpret_cast<const char*>(first.data()), static_cast<std::size_t>(count)).find(mark) !=
             std::string_view::npos;
}

/// Also catches paths such as /dev/stdout that lead to the input.
void refuse_inputs(const std::string& path, const struct stat& old, const std::vector<std::string>& inputs) {
  const FileId written = id_of(old);
  for (const std::string& input : inputs) {
    if (S_ISREG(old.st_mode) && id_of(input) == written) {
      throw OutputError("cannot write: " + path + ": it is being read from; name another file");
    }
  }
}

}  // namespace

void require_replaceable(const std::string& path, const Replacing& replacing) {
  const std::optional<struct stat> old = look_at(path);
  if (!old || S_ISFIFO(old->st_mode) || S_ISCHR(old->st_mode)) {
    return;
  }
  refuse_inputs(path, *old, replacing.inputs);
  if (OutputFile::open_descriptor(path)) {
    return;
  }
  if (S_ISDIR(old->st_mode)) {
    throw OutputError("cannot write: " + path + ": it is a directory; name a file in it");
  }
  if (replacing.is_forced || (S_ISREG(old->st_mode) && (old->st_size == 0 || has_mark(path, replacing.mark)))) {
    return;
  }
  throw OutputError("cannot write: " + path + ": it is there and " +
                    (!S_ISREG(old->st_mode)   ? "no file"
                     : replacing.mark.empty() ? "nothing tells whether kymo wrote it"
                                              : "kymo did not write it, or not in this format") +
                    "; name another file, or --force to overwrite this one");
}

void replace_file(const std::string& path, const Replacing& replacing, const std::function<void(OutputFile)>& write) {
  require_replaceable(path, replacing);
  if (std::optional<OutputFile> open_already = OutputFile::open_descriptor(path)) {
    write(*std::move(open_already));
    return;
  }
  const std::optional<struct stat> old = look_at(path);
  if (old && !S_ISREG(old->st_mode)) {
    write(OutputFile::open_stream(path));
    return;
  }
  PendingFile file(resolve_links(path), old);
  write(file.take());
  file.keep();
}

}  // namespace kymo::base
