// A path that owns its text, for options that outlive the expression that sets them.
#pragma once

#include <cstddef>
#include <type_traits>

#include <kymo/export.hpp>
#include <kymo/text.hpp>

namespace kymo {

/// The name of a file or directory. Holds a copy of the text in place: nothing is allocated, and this header stays
/// cheap to include. Longer texts than the system allows are cut; see is_too_long().
class Path {
 public:
  /// Linux's maximum path length, without the terminating NUL.
  static constexpr std::size_t most_bytes = 4095;

  Path() = default;
  /// From what a Text is made of: literals, std::string, std::string_view. A null pointer is an empty path.
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<const T&, Text> && !std::is_same_v<T, Path>>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): a path is written as a text
  Path(const T& path) noexcept {
    const Text text = path;
    is_too_long_ = text.size() > most_bytes;
    size_ = is_too_long_ ? most_bytes : text.size();
    if (size_ != 0) {
      __builtin_memcpy(static_cast<char*>(text_), text.data(), size_);
    }
  }

  /// NUL-terminated.
  [[nodiscard]] KYMO_SKIP
  const char* c_str() const noexcept { return static_cast<const char*>(text_); }
  [[nodiscard]] KYMO_SKIP
  std::size_t size() const noexcept { return size_; }
  [[nodiscard]] KYMO_SKIP
  bool empty() const noexcept { return size_ == 0; }
  // NOLINTNEXTLINE(google-explicit-constructor): a path is read as a text
  KYMO_SKIP
  operator Text() const noexcept { return {c_str(), size_}; }
  /// To std::string_view.
  template <template <typename...> class View, typename Traits,
            typename = std::enable_if_t<detail::is_view<View<char, Traits>>>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): as above
  operator View<char, Traits>() const noexcept { return {c_str(), size_}; }
  /// True if the text had more than most_bytes; the path then holds the first most_bytes.
  [[nodiscard]] KYMO_SKIP
  bool is_too_long() const noexcept { return is_too_long_; }

 private:
  std::size_t size_ = 0;
  bool is_too_long_ = false;
  char text_[most_bytes + 1] = {};  // NOLINT(modernize-avoid-c-arrays)
};

}  // namespace kymo
