// The panel's requests to the browser. One thread, the page's worker; implemented in page/browser.js.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kymo::web {

/// Fetches bytes of a capture from an offset and waits for them. Returns the number of bytes stored in `out`. Throws
/// CaptureError, which calls the capture `name`, if it got none.
std::size_t fetch_bytes(int capture, const std::string& name, std::uint64_t offset, std::span<std::byte> out);

/// Makes the canvas's WebGL 2 context the current one. Returns false if there is none.
[[nodiscard]] bool make_context_current();

/// A glyph's cell in pixels; `letter` is the font size, `baseline` counts from the top.
struct GlyphCell {
  std::uint32_t width;
  std::uint32_t height;
  float letter;
  float baseline;
};

/// Draws characters in the browser's own font into a column of cells, one byte per pixel. `out` holds one cell and
/// `advances` one number per character, the distance to the next character.
void draw_glyphs(std::span<const std::uint16_t> characters, const GlyphCell& cell, std::span<std::uint8_t> out,
                 std::span<float> advances);

/// Copies a text to the clipboard if the browser allows it.
void copy_text(const char* text);

}  // namespace kymo::web
