// A path that owns its text, for options that outlive the expression that sets them.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <kymo/export.hpp>

namespace kymo {

/// The name of a file or directory. Holds a copy of the text in place: nothing is allocated, and this header stays
/// cheap to include. Longer texts than the system allows are cut; see is_too_long().
class Path {
 public:
  /// Linux's maximum path length, without the terminating NUL.
  static constexpr std::size_t most_bytes = 4095;

  Path() = default;
  /// From anything that converts to std::string_view: literals, std::string.
  template <typename Text, typename = std::enable_if_t<std::is_convertible_v<const Text&, std::string_view> &&
                                                       !std::is_same_v<Text, Path>>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): a path is written as a text
  Path(const Text& text) noexcept {
    const std::string_view bytes = text;
    is_too_long_ = bytes.size() > most_bytes;
    size_ = bytes.copy(static_cast<char*>(text_), most_bytes);
  }
  /// A null pointer is an empty path.
  // NOLINTNEXTLINE(google-explicit-constructor): as above
  KYMO_SKIP
  Path(const char* text) noexcept : Path(text != nullptr ? std::string_view(text) : std::string_view()) {}

  /// NUL-terminated.
  [[nodiscard]] KYMO_SKIP
  const char* c_str() const noexcept { return static_cast<const char*>(text_); }
  [[nodiscard]] KYMO_SKIP
  std::string_view view() const noexcept { return {c_str(), size_}; }
  // NOLINTNEXTLINE(google-explicit-constructor): a path is read as a text
  KYMO_SKIP
  operator std::string_view() const noexcept { return view(); }
  [[nodiscard]] KYMO_SKIP
  bool empty() const noexcept { return size_ == 0; }
  /// True if the text had more than most_bytes; the path then holds the first most_bytes.
  [[nodiscard]] KYMO_SKIP
  bool is_too_long() const noexcept { return is_too_long_; }

 private:
  std::size_t size_ = 0;
  bool is_too_long_ = false;
  char text_[most_bytes + 1] = {};  // NOLINT(modernize-avoid-c-arrays)
};

}  // namespace kymo
