// What the page's script does for the panel: browser.js defines it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
/// Fetches `size` bytes of a capture from an offset and waits for them; how many came, or -1, and kymo_browser_error
/// says why.
std::int32_t kymo_browser_fetch(int capture, double offset, std::byte* out, std::uint32_t size);
/// Why the last fetch failed, cut to `size` bytes with the ending 0.
void kymo_browser_error(char* out, std::uint32_t size);
/// Makes the canvas's WebGL 2 context the current one; 0 where there is none.
int kymo_browser_make_context();
/// Draws `count` characters in the browser's own font of a size into cells of width times height pixels, one below the
/// other, one byte a pixel; `advances` is where each one's next begins.
void kymo_browser_draw_glyphs(const std::uint16_t* characters, std::uint32_t count, float pixels, float baseline,
                              std::uint32_t width, std::uint32_t height, std::uint8_t* out, float* advances);
/// Puts a text on the clipboard, where the browser allows it.
void kymo_browser_copy(const char* text);
}
