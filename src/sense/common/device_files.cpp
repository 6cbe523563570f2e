#include "sense/common/device_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/system/file.hpp"
#include "sense/common/parse.hpp"

namespace kymo::sense {

namespace {

struct Closer {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
struct Freer {
  void operator()(char* text) const { std::free(text); }
};

/// Natural order: compares letters as text and runs of digits as numbers.
bool comes_before(const std::string& left, const std::string& right) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digits_at = [](const std::string& text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && base::is_digit(text[end])) {
      ++end;
    }
    return end - at;
  };
  while (i < left.size() && j < right.size()) {
    const std::size_t left_digits = digits_at(left, i);
    const std::size_t right_digits = digits_at(right, j);
    if (left_digits != 0 && right_digits != 0) {
      if (left_digits != right_digits) {
        return left_digits < right_digits;
      }
      const int order = left.compare(i, left_digits, right, j, right_digits);
      if (order != 0) {
        return order < 0;
      }
      i += left_digits;
      j += right_digits;
    } else if (left[i] != right[j]) {
      return left[i] < right[j];
    } else {
      ++i;
      ++j;
    }
  }
  return left.size() - i < right.size() - j;
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
  const std::unique_ptr<char, Freer> resolved(::realpath(path.c_str(), nullptr));
  return resolved != nullptr ? std::string(resolved.get()) : path;
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

std::vector<GpuCard> find_gpu_cards(const std::string& root, std::string_view vendor) {
  std::vector<GpuCard> cards;
  const std::string folder = root + "/sys/class/drm/";
  for (const std::string& name : list_directory(folder)) {
    // "card0-DP-1" is a connector.
    if (!number_between(name, "card", "") || read_trimmed(folder + name + "/device/vendor") != vendor) {
      continue;
    }
    GpuCard card;
    card.index = cards.size();
    card.card = folder + name;
    card.device = resolve_path(card.card + "/device");
    card.address = last_name(card.device);
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace kymo::sense
