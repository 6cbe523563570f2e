// GPU scopes for OpenGL, through timer queries (OpenGL 3.3 or ARB_timer_query). No OpenGL header or library is needed.
//
//     kymo::OpenGlContext gpu;                     // the context is current, here and wherever `gpu` is used
//     { KYMO_GPU_SCOPE(gpu, "shadow pass"); draw_shadows(); }
//     gpu.collect();                               // once per frame
//
// Component kymo::gpu.
#pragma once

#include <kymo/gpu_scope.hpp>

namespace kymo {

/// Times the work of the OpenGL context that is current at construction. Must be used and destroyed while that context
/// is current. The track is called "GPU OpenGL", unless GpuOptions::track names it.
///
/// A time stamp costs one glQueryCounter. Ten times a second, the clocks are compared: glGetInteger64v(GL_TIMESTAMP) is
/// read between two reads of CLOCK_MONOTONIC, and the bound is half the time between them. With GL_KHR_robustness or
/// OpenGL 4.5, collect() detects a context reset.
class KYMO_API OpenGlContext : public GpuContext {
 public:
  using Function = void (*)();
  /// Finds an OpenGL function: eglGetProcAddress, glXGetProcAddressARB, glfwGetProcAddress.
  using GetFunction = Function (*)(const char* name);

  /// Without `get_function`, functions are found through the loaded libraries: EGL's, GLX's, or OpenGL's own.
  explicit OpenGlContext(GetFunction get_function = nullptr, const GpuOptions& options = {});
};

}  // namespace kymo
