// A text by reference, as the recorder's calls take it.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <kymo/export.hpp>

namespace kymo {

/// Refers to a text that somebody else keeps, like std::string_view. Its layout does not depend on the C++ library, so that
/// a program built with libc++ records with a kymo that was built with libstdc++, and the other way round.
class Text {
 public:
  constexpr Text() noexcept = default;
  /// From anything that converts to std::string_view: literals, std::string. A null pointer is an empty text.
  template <typename T,
            typename = std::enable_if_t<std::is_convertible_v<const T&, std::string_view> && !std::is_same_v<T, Text>>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for a text
  constexpr Text(const T& text) noexcept {
    if constexpr (std::is_pointer_v<T>) {
      if (text == nullptr) {
        return;
      }
    }
    const std::string_view view = text;
    data_ = view.data();
    size_ = view.size();
  }

  [[nodiscard]] KYMO_SKIP
  constexpr std::string_view view() const noexcept { return {data_, size_}; }
  // NOLINTNEXTLINE(google-explicit-constructor): it is read as a text
  KYMO_SKIP
  constexpr operator std::string_view() const noexcept { return view(); }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kymo
