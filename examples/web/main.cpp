// A program in a web page that records itself. Its scopes, frames and metrics appear in the panel in its own canvas, on
// DevTools' timeline while it records, and in a capture that the page saves.
#include <cstdio>

#include <GLFW/glfw3.h>
#include <emscripten/emscripten.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>

#include <kymo/browser_capture.hpp>
#include <kymo/browser_sink.hpp>
#include <kymo/kymo.hpp>
#include <kymo/panel.hpp>

#include "particles.hpp"

namespace {

constexpr int width = 1100;
constexpr int height = 700;
constexpr const char* capture_path = "page.kymo";  // in the program's own memory

class Page {
 public:
  explicit Page(GLFWwindow* window) : window_(window), particles_(2000, width, height) {}

  void draw_frame() {
    KYMO_SCOPE("draw_frame");
    glfwPollEvents();
    kymo::record_metric("bounces", particles_.step(1.0F / 60));
    begin();
    draw_particles();
    draw_panel();
    render();
  }

  /// The timeline and the capture start and stop in the same event: no scope is open here, and nothing runs in between.
  bool start() {
    kymo::CaptureOptions options;
    options.path = capture_path;
    shown_ = timeline_.install();
    return kymo::start_capture(options);
  }
  bool stop() {
    // If the name was taken, the capture has another one.
    const kymo::Path path = kymo::capture_path();
    shown_.remove();
    const bool is_saved = kymo::stop_capture() && kymo::download_capture(path);
    std::remove(path.c_str());
    return is_saved;
  }

  [[nodiscard]] bool is_paused() const { return panel_.is_paused(); }

 private:
  void begin() {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
  }

  void draw_particles() {
    KYMO_SCOPE("draw_particles");
    ImDrawList* const list = ImGui::GetBackgroundDrawList();
    for (const Particle& particle : particles_.all()) {
      list->AddNgonFilled(ImVec2(particle.x, particle.y), Particles::radius, particle.colour, 8);
    }
  }

  void draw_panel() {
    KYMO_SCOPE("draw_panel");
    ImGui::SetNextWindowPos(ImVec2(40, 60), ImGuiCond_FirstUseEver);
    ImGui::SetNextWindowSize(ImVec2(width - 80, height - 120), ImGuiCond_FirstUseEver);
    kymo::show(panel_);
  }

  void render() {
    KYMO_SCOPE("render");
    ImGui::Render();
    int pixels_x = 0;
    int pixels_y = 0;
    glfwGetFramebufferSize(window_, &pixels_x, &pixels_y);
    glViewport(0, 0, pixels_x, pixels_y);
    glClearColor(0.06F, 0.07F, 0.09F, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  }

  GLFWwindow* window_;
  Particles particles_;
  kymo::PanelState panel_;
  kymo::BrowserSink timeline_;
  kymo::SinkGuard shown_;
};

Page* page = nullptr;  // lives as long as the browser's callbacks

}  // namespace

// Called by the page's buttons.
extern "C" {

EMSCRIPTEN_KEEPALIVE int start_recording() {
  return page->start() ? 1 : 0;
}

EMSCRIPTEN_KEEPALIVE int stop_recording() {
  return page->stop() ? 1 : 0;
}

EMSCRIPTEN_KEEPALIVE int is_paused() {
  return page->is_paused() ? 1 : 0;
}

}  // extern "C"

int main() {
  if (glfwInit() == 0) {
    return 1;
  }
  glfwWindowHint(GLFW_CLIENT_API, GLFW_OPENGL_ES_API);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  GLFWwindow* const window = glfwCreateWindow(width, height, "kymo in a page", nullptr, nullptr);
  if (window == nullptr) {
    return 1;
  }
  glfwMakeContextCurrent(window);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  ImGui_ImplGlfw_InitForOpenGL(window, true);
  ImGui_ImplOpenGL3_Init("#version 300 es");
  static Page own(window);
  page = &own;
  // Marks the frame between two callbacks, when no scope is open.
  emscripten_set_main_loop(
      [] {
        page->draw_frame();
        kymo::frame_mark();
      },
      0, 0);
  return 0;
}
