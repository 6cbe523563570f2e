// Draws a scene in several passes and records both sides of each frame: submitting the work on the CPU and executing it
// on the GPU.
//
//     ./gpu_scene --screenshot scene.png scene.kymo && kymo view scene.kymo
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string>

#include <kymo/gpu_opengl.hpp>
#include <kymo/kymo.hpp>

#include "gl.hpp"
#include "offscreen.hpp"
#include "options.hpp"
#include "scene.hpp"
#include "waves.hpp"

namespace {

constexpr const char* usage =
    "Usage: gpu_scene [--frames N] [--screenshot PNG] [CAPTURE]\n"
    "Draws a pond of boxes at sunset, 640x360, without a window, and times each pass on the GPU.\n"
    "\n"
    "  --frames N        to draw (40)\n"
    "  --screenshot PNG  write the last frame\n"
    "  --help            print this and exit\n"
    "  CAPTURE           where to record; KYMO_RECORD=CAPTURE does the same\n";

constexpr int width = 640;
constexpr int height = 360;

void save(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    throw std::runtime_error(path + " could not be written");
  }
}

void draw(unsigned frames, const std::string& screenshot) {
  const kymo::offscreen::Offscreen screen(width, height);
  example::Scene scene(width, height);
  example::Waves waves;
  kymo::OpenGlContext gpu(example::Gl::find);
  kymo::frame_mark();
  for (unsigned frame = 0; frame < frames; ++frame) {
    {
      KYMO_SCOPE("frame on the CPU", {"number", frame});
      waves.step();
      scene.draw(waves.heights(), static_cast<float>(frame) / 60, gpu);
      KYMO_SCOPE("collect");
      gpu.collect();
    }
    kymo::frame_mark();
  }
  if (!screenshot.empty()) {
    save(screenshot, screen.to_png());
  }
  gpu.flush();
  const kymo::GpuScopeCounts counts = gpu.counts();
  std::printf("%u frames; GPU scopes: %llu timed, %llu not\n", frames, static_cast<unsigned long long>(counts.resolved),
              static_cast<unsigned long long>(counts.unresolved + counts.pending));
}

}  // namespace

int main(int count, char** arguments) {
  const std::optional<example::ScreenOptions> options = example::parse_screen_options("gpu_scene", count, arguments);
  if (!options || options->paths.size() > 1) {
    return 2;
  }
  if (options->wants_help) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (options->paths.empty()) {
    kymo::enable();
  } else {
    kymo::CaptureOptions capture;
    capture.path = options->paths.front();
    if (!kymo::start_capture(capture)) {
      return 1;
    }
  }
  kymo::set_thread_name("main");
  try {
    constexpr unsigned usual_frames = 40;
    draw(options->frames != 0 ? options->frames : usual_frames, options->screenshot);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_scene: %s\n", error.what());
    return 1;
  }
  return 0;
}
