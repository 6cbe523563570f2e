#include "base/system/new_file.hpp"

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/message.hpp"
#include "base/system/system.hpp"

namespace kymo::base {
namespace {

constexpr int max_suffix = 10000;

// "dir/run.kymo" and 2 become "dir/run-2.kymo".
std::string with_suffix(const std::string& path, int suffix) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name) {
    dot = path.size();
  }
  return path.substr(0, dot) + "-" + std::to_string(suffix) + path.substr(dot);
}

}  // namespace

std::optional<int> descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") {
    return STDOUT_FILENO;
  }
  if (path == "/dev/stderr") {
    return STDERR_FILENO;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.starts_with(folder)) {
      const char* const end = path.data() + path.size();
      unsigned number = 0;
      const auto [rest, error] = std::from_chars(path.data() + folder.size(), end, number);
      return error == std::errc() && rest == end && number <= INT_MAX ? std::optional(static_cast<int>(number))
                                                                      : std::nullopt;
    }
  }
  return std::nullopt;
}

unsigned new_file_mode() {
  constexpr unsigned own = 0600;
  const char* const text = trusted_variable("KYMO_FILE_MODE");
  if (text == nullptr || *text == '\0') {
    return own;
  }
  char* end = nullptr;
  const unsigned long mode = std::strtoul(text, &end, 8);
  if (*text < '0' || *text > '7' || *end != '\0' || mode > 0777) {
    static SayOnce say_not_understood;
    say_not_understood("KYMO_FILE_MODE is not understood (expected such as 0640); new files are 0600");
    return own;
  }
  return own | static_cast<unsigned>(mode);
}

NewFile create_new_file(const std::string& path) {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  NewFile made{FileDescriptor(), path};
  struct stat status {};
  const bool is_descriptor = descriptor_of(path).has_value();
  if (is_descriptor || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) {
    // A device such as /dev/null: the output goes where the user directs it.
    const bool is_device = !is_descriptor && S_ISCHR(status.st_mode);
    if (is_device) {
      made.file = open_high(path, O_WRONLY | O_NOCTTY | O_NONBLOCK);
    }
    if (!is_device || ::isatty(made.file.get()) == 1) {
      made.file.reset();
      errno = ENOTSUP;
    }
    return made;
  }
  const unsigned mode = new_file_mode();
  for (int suffix = 1;; ++suffix) {
    made.file = open_high(made.path, flags, mode);
    if (made.file || errno != EEXIST || suffix > max_suffix) {
      return made;
    }
    made.path = with_suffix(path, suffix);
  }
}

}  // namespace kymo::base
