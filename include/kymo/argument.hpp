// Arguments: named values on spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <kymo/export.hpp>
#include <kymo/text.hpp>

/// Converts a float to the double with the same shortest decimal: 0.1 rather than 0.10000000149011612. About 10 ns.
extern "C" KYMO_API double kymo_shortest_double_v1(float value) noexcept;

namespace kymo {

/// What the bits of an argument are.
enum class ArgumentType : std::uint8_t { int64 = 0, uint64 = 1, float64 = 2, boolean = 3, string = 4 };

/// A named integer, float, boolean or string: `{"objects", n}`.
///
/// The name must be a string literal. A string is copied when the argument is recorded and must stay valid until then;
/// strings over 256 bytes are cut and marked as cut. A null pointer is recorded as the text "(null)". A float is
/// recorded as its shortest decimal.
struct Argument {
  template <std::size_t N, typename T>
  // NOLINTNEXTLINE(google-explicit-constructor): an argument is written as {"name", value}
  KYMO_SKIP
  constexpr Argument(const char (&literal)[N], const T& argument_value)  // NOLINT(modernize-avoid-c-arrays)
      : name(literal, N - 1) {
    set(argument_value);
  }

  /// For names that are not literals (C interface, other languages). The name must stay valid until the argument is
  /// recorded.
  KYMO_SKIP
  static Argument from_bits(Text name, ArgumentType type, std::uint64_t bits) noexcept {
    Argument argument;
    argument.name = name;
    argument.type = type;
    argument.bits = bits;
    return argument;
  }
  KYMO_SKIP
  static Argument from_text(Text name, Text text) noexcept {
    Argument argument = from_bits(name, ArgumentType::string, 0);
    argument.text = text;
    return argument;
  }

  Text name{};
  ArgumentType type = ArgumentType::int64;
  std::uint64_t bits = 0;
  Text text{};

 private:
  KYMO_SKIP
  Argument() {}  // NOLINT(modernize-use-equals-default): a defaulted one would be hooked

  template <typename T>
  KYMO_SKIP
  constexpr void set(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      type = ArgumentType::boolean;
      bits = value ? 1 : 0;
    } else if constexpr (std::is_enum_v<T>) {
      set(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_integral_v<T>) {
      type = std::is_signed_v<T> ? ArgumentType::int64 : ArgumentType::uint64;
      bits = static_cast<std::uint64_t>(
          static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      type = ArgumentType::float64;
      double wide = 0;
      if constexpr (std::is_same_v<T, float>) {
        wide = kymo_shortest_double_v1(value);
      } else {
        wide = static_cast<double>(value);
      }
      std::memcpy(&bits, &wide, sizeof bits);
    } else if constexpr (std::is_convertible_v<const T&, const char*>) {
      const char* characters = value;
      type = ArgumentType::string;
      text = characters != nullptr ? characters : "(null)";
    } else {
      static_assert(std::is_convertible_v<const T&, Text>, "an argument is an integer, a float, a boolean or a string");
      type = ArgumentType::string;
      text = Text(value);
    }
  }
};

}  // namespace kymo
