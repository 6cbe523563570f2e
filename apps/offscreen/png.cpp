// Encodes pixels as PNG with stb.
#include "png.hpp"

#include <stdexcept>

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>

namespace kymo::offscreen {

namespace {

/// Drawings consist of even areas. Unfiltered they take a fifth less and are compressed in half the time.
void choose_compression() {
  stbi_write_force_png_filter = 0;
  stbi_write_png_compression_level = 32;
}

}  // namespace

std::string encode_png(const std::vector<std::uint8_t>& rgb, int width, int height) {
  choose_compression();
  std::string png;
  const auto append = [](void* to, void* data, int size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  if (stbi_write_png_to_func(append, &png, width, height, 3, rgb.data(), width * 3) == 0) {
    throw std::runtime_error("the picture could not be written as PNG: there is too little memory");
  }
  return png;
}

}  // namespace kymo::offscreen
