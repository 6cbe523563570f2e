// What the panel asks the browser for. One thread, the page's worker; page/browser.js does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kymo::web {

/// Fetches bytes of a capture from an offset and waits for them; how many of `out` were filled. Throws CaptureError,
/// which calls the capture by `name`, where none could be had.
std::size_t fetch_bytes(int capture, const std::string& name, std::uint64_t offset, std::span<std::byte> out);

/// Makes the canvas's WebGL 2 context the current one; false where there is none.
[[nodiscard]] bool make_context_current();

/// A cell of a letter, in pixels; `letter` is the font's size, `baseline` is counted from above.
struct GlyphCell {
  std::uint32_t width;
  std::uint32_t height;
  float letter;
  float baseline;
};

/// Draws characters in the browser's own font into cells one below the other, one byte a pixel: `out` holds a cell and
/// `advances` a number for each character, where the next one begins.
void draw_glyphs(std::span<const std::uint16_t> characters, const GlyphCell& cell, std::span<std::uint8_t> out,
                 std::span<float> advances);

/// Puts a text on the clipboard, where the browser allows it.
void copy_text(const char* text);

}  // namespace kymo::web
