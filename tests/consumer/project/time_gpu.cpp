// Times the work of a GPU that is not there, with a component of its own: the scope is recorded, its GPU time is not.
#include <cstdio>

#include <kymo/gpu_cuda.hpp>
#include <kymo/kymo.hpp>

int main(int, char** arguments) {
  kymo::CaptureOptions options;
  options.path = arguments[1];
  if (!kymo::start_capture(options)) {
    return 1;
  }
  kymo::CudaContext gpu("libthere-is-no-such-driver.so.1");
  { KYMO_GPU_SCOPE(gpu, "matmul", {"m", 64}); }
  const kymo::GpuScopeCounts counts = gpu.counts();
  kymo::stop_capture();
  if (gpu.is_working() || counts.issued != 1 || counts.unresolved != 1) {
    std::fprintf(stderr, "a scope without a GPU was not counted as unresolved\n");
    return 1;
  }
  return 0;
}
