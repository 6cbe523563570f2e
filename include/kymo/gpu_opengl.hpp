// GPU scopes of OpenGL, by timer queries: OpenGL 3.3, or ARB_timer_query. Nothing of OpenGL is included or linked.
//
//     kymo::OpenGlContext gpu;                     // the context is current, here and wherever `gpu` is used
//     { KYMO_GPU_SCOPE(gpu, "shadow pass"); draw_shadows(); }
//     gpu.collect();                               // once a frame
//
// Component kymo::gpu.
#pragma once

#include <kymo/gpu_scope.hpp>

namespace kymo {

/// Times the work of the OpenGL context that is current when it is made. It is used and destroyed where that context is
/// current. The track is called "GPU OpenGL", unless GpuOptions::track names it.
///
/// A time stamp costs what the driver takes for glQueryCounter. The clocks are compared by
/// glGetInteger64v(GL_TIMESTAMP) between two readings of CLOCK_MONOTONIC, ten times a second; the bound is half of what
/// that took. Where the context has GL_KHR_robustness or is of 4.5, a reset is seen when collecting.
class KYMO_API OpenGlContext : public GpuContext {
 public:
  using Function = void (*)();
  /// Finds a function of OpenGL: eglGetProcAddress, glXGetProcAddressARB, glfwGetProcAddress.
  using GetFunction = Function (*)(const char* name);

  /// Without `get_function`, functions are found through the libraries that are loaded: EGL's, GLX's, or OpenGL's own.
  explicit OpenGlContext(GetFunction get_function = nullptr, const GpuOptions& options = {});
};

}  // namespace kymo
