// The viewer's window with GLFW, and when it is redrawn.
#include "window.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include <GL/gl.h>
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <imgui.h>

#include "imgui_context.hpp"
#include "layout.hpp"
#include "look.hpp"
#include "shown.hpp"

namespace kymo::viewer {

namespace {

/// Polling intervals: while data is being read, while captures may grow, and otherwise (then only signals can occur).
constexpr double busy_wait_s = 0.008;
constexpr double live_wait_s = 0.05;
constexpr double idle_wait_s = 0.5;
/// ImGui needs several frames per event: the effect of a click appears in the next one, sizes one later.
constexpr int frames_an_event = 3;

volatile std::sig_atomic_t is_told_to_end = 0;

void note_signal(int) {
  is_told_to_end = 1;
}

/// Owns GLFW's global state.
class Glfw {
 public:
  Glfw() {
    glfwSetErrorCallback([](int, const char* what) { last_error() = what; });
    if (glfwInit() == GLFW_FALSE) {
      throw std::runtime_error("no window can be opened: " + last_error() +
                               "; --screenshot makes a picture without a display");
    }
  }
  Glfw(const Glfw&) = delete;
  Glfw& operator=(const Glfw&) = delete;
  ~Glfw() { glfwTerminate(); }

  static std::string& last_error() {
    static std::string error;
    return error;
  }
};

/// The OpenGL calls in use.
struct Calls {
  void (*viewport)(GLint, GLint, GLsizei, GLsizei);
  void (*clear_colour)(GLfloat, GLfloat, GLfloat, GLfloat);
  void (*clear)(GLbitfield);

  Calls() {
    find("glViewport", viewport);
    find("glClearColor", clear_colour);
    find("glClear", clear);
  }

 private:
  template <typename Function>
  static void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(glfwGetProcAddress(name));
    if (function == nullptr) {
      throw std::runtime_error(std::string("no window can be opened: OpenGL lacks ") + name);
    }
  }
};

/// The size of a window that none was set for, as far as the screen has room for it.
Size usual_size() {
  Size size{1600, 900};
  GLFWmonitor* const monitor = glfwGetPrimaryMonitor();
  if (monitor != nullptr) {
    int left = 0;
    int top = 0;
    Size room{0, 0};
    glfwGetMonitorWorkarea(monitor, &left, &top, &room.width, &room.height);
    size.width = room.width > 0 ? std::min(size.width, room.width) : size.width;
    size.height = room.height > 0 ? std::min(size.height, room.height) : size.height;
  }
  return size;
}

class Window {
 public:
  Window(const Options& options, Shown& shown);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  void run();

 private:
  void create();
  void listen();
  void draw();
  void wait();
  void set_title();
  void take_scale();
  [[nodiscard]] Layout layout() const;
  static Window& of(GLFWwindow* window) { return *static_cast<Window*>(glfwGetWindowUserPointer(window)); }
  void wake() { frames_wanted_ = frames_an_event; }

  const Options& options_;
  std::string layout_path_;
  Layout layout_;
  Theme theme_;
  Glfw glfw_;
  GLFWwindow* window_ = nullptr;
  ImGuiOwner imgui_;
  std::unique_ptr<GlRenderer> renderer_;
  std::unique_ptr<Calls> calls_;
  Shown& shown_;
  std::string title_;
  float scale_ = 0;
  int frames_wanted_ = frames_an_event;
  bool was_busy_ = false;
};

Window::Window(const Options& options, Shown& shown)
    : options_(options),
      layout_path_(layout_path()),
      layout_(read_layout(layout_path_)),
      theme_(options.theme.value_or(layout_.theme.value_or(Theme::dark))),
      shown_(shown) {
  shown_.set_theme(theme_);
  shown_.file_menu().add_recent(layout_.recent);
  ImGui::LoadIniSettingsFromMemory(layout_.imgui.data(), layout_.imgui.size());
  create();
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(options.quit_after == 0 ? 1 : 0);
  calls_ = std::make_unique<Calls>();
  glfwSetWindowUserPointer(window_, this);
  listen();
  ImGui_ImplGlfw_InitForOpenGL(window_, true);
  renderer_ = std::make_unique<GlRenderer>();
}

Window::~Window() {
  write_layout(layout_path_, layout());
  renderer_.reset();
  ImGui_ImplGlfw_Shutdown();
  glfwDestroyWindow(window_);
}

void Window::create() {
  const Size size = options_.size ? *options_.size : layout_.size ? *layout_.size : usual_size();
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  if (!options_.size && layout_.is_maximised) {
    glfwWindowHint(GLFW_MAXIMIZED, GLFW_TRUE);
  }
  window_ = glfwCreateWindow(size.width, size.height, "kymo", nullptr, nullptr);
  if (window_ == nullptr) {
    throw std::runtime_error("no window can be opened: " + Glfw::last_error() +
                             "; --screenshot makes a picture without a display");
  }
  if (layout_.place) {
    // Restores the position only if the window is visible and can be grabbed there: monitors come and go.
    int count = 0;
    GLFWmonitor** const monitors = glfwGetMonitors(&count);
    for (int i = 0; i < count; ++i) {
      int left = 0;
      int top = 0;
      int width = 0;
      int height = 0;
      glfwGetMonitorWorkarea(monitors[i], &left, &top, &width, &height);
      const int x = layout_.place->width - left;
      const int y = layout_.place->height - top;
      if (x > -size.width / 2 && x < width - 64 && y >= 0 && y < height - 64) {
        glfwSetWindowPos(window_, layout_.place->width, layout_.place->height);
        break;
      }
    }
  }
}

void Window::listen() {
  // ImGui's backend chains to these callbacks, so set them first.
  glfwSetKeyCallback(window_, [](GLFWwindow* window, int, int, int, int) { of(window).wake(); });
  glfwSetCharCallback(window_, [](GLFWwindow* window, unsigned) { of(window).wake(); });
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* window, int, int, int) { of(window).wake(); });
  glfwSetCursorPosCallback(window_, [](GLFWwindow* window, double, double) { of(window).wake(); });
  glfwSetCursorEnterCallback(window_, [](GLFWwindow* window, int) { of(window).wake(); });
  glfwSetScrollCallback(window_, [](GLFWwindow* window, double, double) { of(window).wake(); });
  glfwSetWindowFocusCallback(window_, [](GLFWwindow* window, int) { of(window).wake(); });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* window) { of(window).wake(); });
  glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* window, int, int) { of(window).wake(); });
  glfwSetWindowContentScaleCallback(window_, [](GLFWwindow* window, float, float) { of(window).wake(); });
  glfwSetDropCallback(window_, [](GLFWwindow* window, int count, const char** paths) {
    of(window).shown_.open_dropped({paths, paths + count});
    of(window).wake();
  });
}

void Window::take_scale() {
  float scale = 1;
  float vertical = 1;
  glfwGetWindowContentScale(window_, &scale, &vertical);
  scale = options_.scale.value_or(std::isfinite(scale) ? std::min(std::max(scale, 0.5F), 8.0F) : 1.0F);
  if (scale != scale_ || shown_.theme() != theme_) {
    [[maybe_unused]] const bool is_first = scale_ == 0;
    scale_ = scale;
    theme_ = shown_.theme();
    set_look(theme_, scale);
#if IMGUI_VERSION_NUM < 19200  // later ones notice that the fonts changed
    if (!is_first) {
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
#endif
  }
}

void Window::set_title() {
  std::string title = shown_.title().empty() ? std::string("kymo") : shown_.title() + " - kymo";
  if (title != title_) {
    title_ = std::move(title);
    glfwSetWindowTitle(window_, title_.c_str());
  }
}

void Window::draw() {
  take_scale();
  set_title();
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  shown_.draw();
  ImGui::Render();
  int width = 0;
  int height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  const ImVec4 back = ImGui::GetStyle().Colors[ImGuiCol_WindowBg];
  calls_->viewport(0, 0, width, height);
  calls_->clear_colour(back.x, back.y, back.z, 1);
  calls_->clear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(window_);
}

void Window::wait() {
  if (frames_wanted_ > 0) {
    glfwPollEvents();
  } else {
    glfwWaitEventsTimeout(shown_.is_busy() ? busy_wait_s : shown_.is_live() ? live_wait_s : idle_wait_s);
  }
  const bool is_busy = shown_.is_busy();
  const bool has_news = shown_.poll();
  // Redraw also when reading ends, and for the blinking caret of a text field.
  if (has_news || is_busy != was_busy_ || ImGui::GetIO().WantTextInput) {
    frames_wanted_ = std::max(frames_wanted_, 1);
  }
  was_busy_ = is_busy;
}

void Window::run() {
  unsigned drawn = 0;
  draw();
  glfwShowWindow(window_);
  while (glfwWindowShouldClose(window_) == GLFW_FALSE && is_told_to_end == 0 && !shown_.wants_to_quit()) {
    if (options_.quit_after != 0) {
      glfwPollEvents();
      shown_.poll();
      draw();
      if (++drawn >= options_.quit_after) {
        return;
      }
      continue;
    }
    wait();
    if (frames_wanted_ > 0) {
      --frames_wanted_;
      draw();
    }
  }
}

Layout Window::layout() const {
  Layout now = layout_;
  now.is_maximised = glfwGetWindowAttrib(window_, GLFW_MAXIMIZED) == GLFW_TRUE;
  if (!now.is_maximised) {
    Size size;
    Size place;
    glfwGetWindowSize(window_, &size.width, &size.height);
    glfwGetWindowPos(window_, &place.width, &place.height);
    now.size = size;
    now.place = place;
  }
  now.theme = theme_;
  now.recent = shown_.file_menu().recent();
  std::size_t bytes = 0;
  const char* const settings = ImGui::SaveIniSettingsToMemory(&bytes);
  // Parsed as it will be read, which drops other sections and invalid lines.
  now.imgui = parse_layout({settings, bytes}).imgui;
  return now;
}

}  // namespace

void show_window(const Options& options) {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
  Shown shown;
  shown.set_config_folder(std::filesystem::path(layout_path()).parent_path().string());
  if (!options.paths.empty()) {
    options.base.empty() ? shown.open(options.paths) : shown.compare({options.base}, options.paths);
    shown.go_to(options);
  }
  Window window(options, shown);
  window.run();
}

}  // namespace kymo::viewer
