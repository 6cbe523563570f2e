// Encodes pixels as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::offscreen {

/// The bytes of a PNG file with `height` rows of `width` pixels, three bytes each, from top to bottom.
[[nodiscard]] std::string encode_png(const std::vector<std::uint8_t>& rgb, int width, int height);

}  // namespace kymo::offscreen
