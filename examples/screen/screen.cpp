#include "screen.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include "offscreen.hpp"

namespace example {

namespace {

void load_font() {
  constexpr const char* font = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
  std::error_code ignored;
  if (std::filesystem::is_regular_file(font, ignored)) {
    ImGui::GetIO().Fonts->AddFontFromFileTTF(font, 15);
  }
}

void start_renderer() {
  if (!ImGui_ImplOpenGL3_Init("#version 130")) {
    throw std::runtime_error("there is no OpenGL 3.0");
  }
}

}  // namespace

class Screen::Window {
 public:
  Window(const std::string& title, int width, int height) {
    if (glfwInit() == GLFW_FALSE) {
      throw std::runtime_error("no window can be opened: there is no display");
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
    window_ = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
    if (window_ == nullptr) {
      glfwTerminate();
      throw std::runtime_error("no window can be opened: there is no OpenGL 3.0");
    }
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    start_renderer();
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    glfwDestroyWindow(window_);
    glfwTerminate();
  }

  bool begin_frame() {
    glfwPollEvents();
    ImGui_ImplGlfw_NewFrame();
    return glfwWindowShouldClose(window_) == GLFW_FALSE;
  }
  void end_frame() {
    int width = 0;
    int height = 0;
    glfwGetFramebufferSize(window_, &width, &height);
    glViewport(0, 0, width, height);
    glClearColor(0.09F, 0.10F, 0.12F, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    glfwSwapBuffers(window_);
  }

 private:
  GLFWwindow* window_ = nullptr;
};

class Screen::Picture {
 public:
  Picture(int width, int height) : target_(width, height) {
    ImGui::GetIO().DisplaySize = ImVec2(static_cast<float>(width), static_cast<float>(height));
    start_renderer();
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  ~Picture() { ImGui_ImplOpenGL3_Shutdown(); }

  void end_frame() {
    target_.clear(0.09F, 0.10F, 0.12F);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  }
  void save(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file << target_.to_png() << std::flush;
    if (!file) {
      throw std::runtime_error(path + " cannot be written");
    }
  }

 private:
  kymo::offscreen::Offscreen target_;
};

Screen::Screen(const std::string& title, int width, int height) {
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  load_font();
  try {
    if (title.empty()) {
      picture_ = std::make_unique<Picture>(width, height);
    } else {
      window_ = std::make_unique<Window>(title, width, height);
    }
  } catch (...) {
    ImGui::DestroyContext();
    throw;
  }
}

Screen::~Screen() {
  window_.reset();
  picture_.reset();
  ImGui::DestroyContext();
}

bool Screen::begin_frame() {
  ImGui_ImplOpenGL3_NewFrame();
  const bool is_open = window_ == nullptr || window_->begin_frame();
  if (is_open) {
    ImGui::NewFrame();
  }
  return is_open;
}

void Screen::end_frame() {
  ImGui::Render();
  if (window_ != nullptr) {
    window_->end_frame();
  } else {
    picture_->end_frame();
  }
}

void Screen::save_png(const std::string& path) const {
  picture_->save(path);
}

}  // namespace example
