#include "sense/common/device_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/system/file.hpp"
#include "sense/common/parse.hpp"

namespace kymo::sense {

namespace {

struct Closer {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Natural order: compares letters as text and runs of digits as numbers.
bool comes_before(const std::string& left, const std::string& right) {
  const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  const auto digits_from = [](auto at, auto end) { return std::find_if_not(at, end, base::is_digit) - at; };
  const auto left_digits = digits_from(l, left.end());
  const auto right_digits = digits_from(r, right.end());
  const bool is_within_number = l != left.begin() && base::is_digit(*std::prev(l));
  if ((is_within_number || (left_digits != 0 && right_digits != 0)) && left_digits != right_digits) {
    return left_digits < right_digits;
  }
  return r != right.end() && (l == left.end() || *l < *r);
}

}  // namespace

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  base::FileDescriptor file = base::open_high(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  const base::FileId id = base::id_of(file.get());
  std::unique_ptr<DIR, Closer> directory(file ? ::fdopendir(file.get()) : nullptr);
  if (directory != nullptr) {
    static_cast<void>(file.release());
    while (const dirent* entry = ::readdir(directory.get())) {
      if (entry->d_name[0] != '.') {
        names.emplace_back(entry->d_name);
      }
    }
    if (!base::is_file(::dirfd(directory.get()), id)) {
      // The program closed the descriptor and has a file of its own there: that stays open, at the price of the memory.
      static_cast<void>(directory.release());
    }
  }
  std::sort(names.begin(), names.end(), comes_before);
  return names;
}

std::string without_end_slash(std::string_view root) {
  while (!root.empty() && root.back() == '/') {
    root.remove_suffix(1);
  }
  return std::string(root);
}

std::string resolve_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  return error ? path : resolved.string();
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string read_trimmed(const std::string& path) {
  return std::string(trimmed(base::read_small_file(path)));
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::optional<unsigned> number_between(std::string_view name, std::string_view prefix, std::string_view suffix) {
  TextCursor cursor(name);
  if (!cursor.skip(prefix) || cursor.at_end() || !base::is_digit(cursor.rest().front())) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> number = cursor.number();
  if (!number || *number > 100'000 || cursor.rest() != suffix) {
    return std::nullopt;
  }
  return static_cast<unsigned>(*number);
}

}  // namespace kymo::sense
