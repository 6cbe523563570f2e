// A text by reference, as the recorder's calls take it. <string_view> takes a C++20 compiler longer than all of kymo's
// headers together, so that texts are told by what they have.
#pragma once

#include <cstddef>
#include <type_traits>

#include <kymo/export.hpp>

namespace kymo {

namespace detail {

/// Whether T is a string or a view of one: it has data(), size() and compare(). An array or a vector of characters
/// lacks compare(), and need not be a text.
template <typename T, typename = void>
inline constexpr bool is_text = false;
template <typename T>
inline constexpr bool is_text<T, std::void_t<decltype(std::declval<const T&>().compare(std::declval<const T&>()))>> =
    std::is_convertible_v<decltype(std::declval<const T&>().data()), const char*>&&
        std::is_convertible_v<decltype(std::declval<const T&>().size()), std::size_t>;

/// Whether T is std::string_view: no other type of characters and traits is made of these two and owns nothing.
template <typename T>
inline constexpr bool is_view =
    std::is_constructible_v<T, const char*, std::size_t>&& std::is_trivially_destructible_v<T>;

}  // namespace detail

/// Refers to a text that somebody else keeps, like std::string_view. Its layout does not depend on the C++ library, so
/// that a program built with libc++ records with a kymo that was built with libstdc++, and the other way round.
class Text {
 public:
  constexpr Text() noexcept = default;
  KYMO_SKIP
  constexpr Text(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  /// From characters up to the NUL, or from a string or a view of one, of the standard or any other library:
  /// std::string, std::string_view. A null pointer is an empty text.
  template <typename T, typename = std::enable_if_t<detail::is_text<T> || std::is_convertible_v<const T&, const char*>>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for a text
  constexpr Text(const T& text) noexcept {
    if constexpr (detail::is_text<T>) {
      data_ = text.data();
      size_ = static_cast<std::size_t>(text.size());
    } else {
      data_ = text;
      size_ = data_ != nullptr ? __builtin_strlen(data_) : 0;
    }
  }

  /// Not NUL-terminated. May be null if the text is empty.
  [[nodiscard]] KYMO_SKIP
  constexpr const char* data() const noexcept { return data_; }
  [[nodiscard]] KYMO_SKIP
  constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] KYMO_SKIP
  constexpr bool empty() const noexcept { return size_ == 0; }

  /// To std::string_view.
  template <template <typename...> class View, typename Traits,
            typename = std::enable_if_t<detail::is_view<View<char, Traits>>>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): it is read as a text
  constexpr operator View<char, Traits>() const noexcept { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kymo
