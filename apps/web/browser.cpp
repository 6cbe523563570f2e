#include "browser.hpp"

#include <emscripten/emscripten.h>

#include "kymo/capture.hpp"

// worker.js sets a Browser of page/browser.js as Module.kymo. Creates views of the memory for each call, because they
// become invalid when the memory grows.
EM_JS(int, kymo_fetch, (int capture, double offset, std::byte* out, int size),
      { return Module.kymo.fetch(capture, offset, HEAPU8.subarray(out, out + size)); });

EM_JS(void, kymo_fetch_error, (char* out, int size), { stringToUTF8(Module.kymo.error, out, size); });

EM_JS(int, kymo_make_context_current, (void), {
  const context = Module.kymo.context();
  return context && GL.makeContextCurrent(GL.registerContext(context, {majorVersion : 2, minorVersion : 0})) ? 1 : 0;
});

EM_JS(void, kymo_draw_glyphs,
      (const std::uint16_t* characters, int count, int width, int height, float letter, float baseline,
       std::uint8_t* out, float* advances),
      {
        const codes = HEAPU16.subarray(characters >> 1, (characters >> 1) + count);
        const cells = HEAPU8.subarray(out, out + width * height * count);
        const widths = HEAPF32.subarray(advances >> 2, (advances >> 2) + count);
        Module.kymo.drawGlyphs(codes, {width, height, letter, baseline}, cells, widths);
      });

EM_JS(void, kymo_copy_text, (const char* text), { Module.kymo.copy(UTF8ToString(text)); });

namespace kymo::web {

std::size_t fetch_bytes(int capture, const std::string& name, std::uint64_t offset, std::span<std::byte> out) {
  const int count = kymo_fetch(capture, static_cast<double>(offset), out.data(), static_cast<int>(out.size()));
  if (count < 0) {
    char reason[256] = {};
    kymo_fetch_error(reason, sizeof reason);
    throw CaptureError(name, offset, std::string("cannot be read: ") + reason);
  }
  return static_cast<std::size_t>(count);
}

bool make_context_current() {
  return kymo_make_context_current() != 0;
}

void draw_glyphs(std::span<const std::uint16_t> characters, const GlyphCell& cell, std::span<std::uint8_t> out,
                 std::span<float> advances) {
  kymo_draw_glyphs(characters.data(), static_cast<int>(characters.size()), static_cast<int>(cell.width),
                   static_cast<int>(cell.height), cell.letter, cell.baseline, out.data(), advances.data());
}

void copy_text(const char* text) {
  kymo_copy_text(text);
}

}  // namespace kymo::web
