// Draws a picture with OpenGL without a display.
#include "offscreen.hpp"

#include <algorithm>
#include <stdexcept>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include "png.hpp"

namespace kymo::offscreen {

/// The functions of EGL and OpenGL in use.
struct Offscreen::Calls {
  PFNEGLGETPROCADDRESSPROC get_address = nullptr;
  PFNEGLGETPLATFORMDISPLAYEXTPROC get_platform_display = nullptr;
  PFNEGLINITIALIZEPROC initialize = nullptr;
  PFNEGLTERMINATEPROC terminate = nullptr;
  PFNEGLBINDAPIPROC bind_api = nullptr;
  PFNEGLCHOOSECONFIGPROC choose_config = nullptr;
  PFNEGLCREATECONTEXTPROC create_context = nullptr;
  PFNEGLDESTROYCONTEXTPROC destroy_context = nullptr;
  PFNEGLMAKECURRENTPROC make_current = nullptr;

  void (*clear_colour)(GLfloat, GLfloat, GLfloat, GLfloat) = nullptr;
  void (*clear)(GLbitfield) = nullptr;
  void (*finish)() = nullptr;
  void (*viewport)(GLint, GLint, GLsizei, GLsizei) = nullptr;
  void (*get_integer)(GLenum, GLint*) = nullptr;
  void (*pixel_store)(GLenum, GLint) = nullptr;
  void (*read_pixels)(GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void*) = nullptr;
  PFNGLGENFRAMEBUFFERSPROC make_framebuffers = nullptr;
  PFNGLBINDFRAMEBUFFERPROC bind_framebuffer = nullptr;
  PFNGLGENRENDERBUFFERSPROC make_renderbuffers = nullptr;
  PFNGLBINDRENDERBUFFERPROC bind_renderbuffer = nullptr;
  PFNGLRENDERBUFFERSTORAGEPROC store_renderbuffer = nullptr;
  PFNGLFRAMEBUFFERRENDERBUFFERPROC attach_renderbuffer = nullptr;
  PFNGLCHECKFRAMEBUFFERSTATUSPROC check_framebuffer = nullptr;

  template <typename Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(get_address(name));
    if (function == nullptr) {
      throw std::runtime_error(std::string("no picture can be drawn: this machine's EGL lacks ") + name);
    }
  }
};

Offscreen::Offscreen(int width, int height) : width_(width), height_(height), calls_(std::make_unique<Calls>()) {
  if (width < 1 || height < 1 || width > most_pixels || height > most_pixels) {
    throw std::runtime_error("a picture has 1 to 16384 pixels on a side");
  }
  try {
    make_context();
    make_picture();
  } catch (...) {
    if (display_ != nullptr) {
      calls_->terminate(display_);
    }
    throw;
  }
}

// libEGL is never unloaded because drivers leave threads and exit handlers behind.
Offscreen::~Offscreen() {
  calls_->make_current(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  calls_->destroy_context(display_, context_);
  calls_->terminate(display_);
}

void Offscreen::make_context() {
  Calls& gl = *calls_;
  void* const library = ::dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(
        "no picture can be drawn: libEGL.so.1 is not here (Debian: libegl1, and libgl1-mesa-dri to draw without a GPU)");
  }
  gl.get_address = reinterpret_cast<PFNEGLGETPROCADDRESSPROC>(::dlsym(library, "eglGetProcAddress"));
  if (gl.get_address == nullptr) {
    throw std::runtime_error("no picture can be drawn: libEGL.so.1 is none of EGL's");
  }
  gl.find("eglGetPlatformDisplayEXT", gl.get_platform_display);
  // Functions of the library itself, which eglGetProcAddress of EGL 1.4 does not return.
  const auto find_own = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) {
      throw std::runtime_error(std::string("no picture can be drawn: libEGL.so.1 lacks ") + name);
    }
  };
  find_own("eglInitialize", gl.initialize);
  find_own("eglTerminate", gl.terminate);
  find_own("eglBindAPI", gl.bind_api);
  find_own("eglChooseConfig", gl.choose_config);
  find_own("eglCreateContext", gl.create_context);
  find_own("eglDestroyContext", gl.destroy_context);
  find_own("eglMakeCurrent", gl.make_current);

  display_ = gl.get_platform_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  EGLint major = 0;
  EGLint minor = 0;
  if (display_ == nullptr || gl.initialize(display_, &major, &minor) == EGL_FALSE) {
    display_ = nullptr;
    throw std::runtime_error(
        "no picture can be drawn: EGL finds no driver that draws without a display (Debian: libegl-mesa0 and "
        "libgl1-mesa-dri)");
  }
  // Accepts any kind of surface, because none is used.
  constexpr EGLint wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  constexpr EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 0, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (gl.bind_api(EGL_OPENGL_API) == EGL_FALSE || gl.choose_config(display_, wanted, &config, 1, &count) == EGL_FALSE ||
      count == 0 || (context_ = gl.create_context(display_, config, EGL_NO_CONTEXT, version)) == nullptr ||
      gl.make_current(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_) == EGL_FALSE) {
    throw std::runtime_error(
        "no picture can be drawn: this machine's driver has no OpenGL 3.0 (Debian: libgl1-mesa-dri)");
  }
}

void Offscreen::make_picture() {
  Calls& gl = *calls_;
  gl.find("glClearColor", gl.clear_colour);
  gl.find("glClear", gl.clear);
  gl.find("glFinish", gl.finish);
  gl.find("glViewport", gl.viewport);
  gl.find("glGetIntegerv", gl.get_integer);
  gl.find("glPixelStorei", gl.pixel_store);
  gl.find("glReadPixels", gl.read_pixels);
  gl.find("glGenFramebuffers", gl.make_framebuffers);
  gl.find("glBindFramebuffer", gl.bind_framebuffer);
  gl.find("glGenRenderbuffers", gl.make_renderbuffers);
  gl.find("glBindRenderbuffer", gl.bind_renderbuffer);
  gl.find("glRenderbufferStorage", gl.store_renderbuffer);
  gl.find("glFramebufferRenderbuffer", gl.attach_renderbuffer);
  gl.find("glCheckFramebufferStatus", gl.check_framebuffer);
  GLint most = 0;
  gl.get_integer(GL_MAX_RENDERBUFFER_SIZE, &most);
  if (width_ > most || height_ > most) {
    throw std::runtime_error("no picture can be drawn: this machine's driver draws at most " + std::to_string(most) +
                             " pixels on a side");
  }
  // Both are destroyed with the context.
  GLuint pixels = 0;
  GLuint framebuffer = 0;
  gl.make_renderbuffers(1, &pixels);
  gl.bind_renderbuffer(GL_RENDERBUFFER, pixels);
  gl.store_renderbuffer(GL_RENDERBUFFER, GL_RGBA8, width_, height_);
  gl.make_framebuffers(1, &framebuffer);
  gl.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
  gl.attach_renderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, pixels);
  if (gl.check_framebuffer(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    throw std::runtime_error("no picture can be drawn: this machine's driver cannot draw into memory");
  }
  gl.viewport(0, 0, width_, height_);
}

void Offscreen::clear(float red, float green, float blue) {
  // Without a window, nothing else keeps drivers from queueing up frames.
  calls_->finish();
  calls_->viewport(0, 0, width_, height_);
  calls_->clear_colour(red, green, blue, 1);
  calls_->clear(GL_COLOR_BUFFER_BIT);
}

std::string Offscreen::to_png() const {
  const std::size_t stride = static_cast<std::size_t>(width_) * 3;
  const auto rows = static_cast<std::size_t>(height_);
  std::vector<std::uint8_t> pixels(stride * rows);
  calls_->pixel_store(GL_PACK_ALIGNMENT, 1);
  calls_->read_pixels(0, 0, width_, height_, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  // OpenGL's rows start at the bottom.
  for (std::size_t row = 0; row < rows / 2; ++row) {
    const auto upper = pixels.begin() + static_cast<std::ptrdiff_t>(row * stride);
    const auto lower = pixels.begin() + static_cast<std::ptrdiff_t>((rows - 1 - row) * stride);
    std::swap_ranges(upper, upper + static_cast<std::ptrdiff_t>(stride), lower);
  }
  return encode_png(pixels, width_, height_);
}

}  // namespace kymo::offscreen
