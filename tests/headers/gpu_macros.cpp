// GPU scopes as users write them, under users' warnings and switched off.
#include <kymo/gpu_opengl.hpp>

void draw(kymo::OpenGlContext& gpu, int casters, const char* technique);

void draw(kymo::OpenGlContext& gpu, int casters, const char* technique) {
  KYMO_GPU_SCOPE(gpu, "frame");
  if (casters > 0) {
    KYMO_GPU_SCOPE(gpu, "shadow pass", {"casters", casters}, {"technique", technique});
    KYMO_GPU_SCOPE(kymo::GpuPlace(gpu), "inner");
  }
  gpu.collect();
}
