// Colours for names, the same wherever a recording is drawn.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kymo::base {

struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

/// Number of distinct hues for names, and of colours: each hue has a darker form.
inline constexpr std::size_t palette_hues = 8;
inline constexpr std::size_t palette_size = 2 * palette_hues;

/// A colour for names, the same in light and dark; place < palette_size. The scheme "light" of Paul Tol, Colour Schemes
/// (SRON/EPS/TN/09-002): distinct to colour-blind eyes, and behind dark text. The second round is darker.
[[nodiscard]] constexpr Rgb palette_colour(std::size_t place) {
  constexpr std::array<Rgb, palette_hues> hues = {{{0x77, 0xAA, 0xDD},
                                                   {0xEE, 0x88, 0x66},
                                                   {0x44, 0xBB, 0x99},
                                                   {0xEE, 0xDD, 0x88},
                                                   {0xFF, 0xAA, 0xBB},
                                                   {0xBB, 0xCC, 0x33},
                                                   {0x99, 0xDD, 0xFF},
                                                   {0xAA, 0xAA, 0x00}}};
  const Rgb hue = hues[place % hues.size()];
  const unsigned percent = place / hues.size() % 2 == 0 ? 100 : 80;
  const auto dim = [percent](std::uint8_t part) { return static_cast<std::uint8_t>(part * percent / 100); };
  return {dim(hue.red), dim(hue.green), dim(hue.blue)};
}

/// Gives names colours of the palette: a name's own hue, or the next one while fewer names have that. So a name usually
/// has the same colour in every run, up to palette_hues names have different hues, and up to palette_size different
/// colours. Not by total time: that would give a site another colour in the next run, and beside it in a comparison.
class NamePalette {
 public:
  /// Gives colours to names, whose order does not matter: the order of declaration differs from run to run. Views that
  /// begin with all sites of a capture give them the same colours.
  void add_all(std::vector<std::string_view> names) {
    std::sort(names.begin(), names.end());
    for (const std::string_view name : names) {
      static_cast<void>(place_of(name));
    }
  }
  /// The place in the palette. Depends on the names asked for before.
  [[nodiscard]] std::size_t place_of(std::string_view name) {
    const auto known = places_.find(std::string(name));
    if (known != places_.end()) {
      return known->second;
    }
    std::uint32_t hash = 2166136261U;
    for (const char c : name) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    hash ^= hash >> 15U;
    // The next hue from its own on that the fewest names have.
    std::size_t hue = hash % palette_hues;
    for (std::size_t i = 1; i < palette_hues; ++i) {
      const std::size_t other = (hash + i) % palette_hues;
      hue = uses_[other] < uses_[hue] ? other : hue;
    }
    const std::size_t place = hue + uses_[hue] % 2 * palette_hues;
    ++uses_[hue];
    return places_.emplace(name, place).first->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  std::array<std::size_t, palette_hues> uses_{};  // by hue
};

}  // namespace kymo::base
