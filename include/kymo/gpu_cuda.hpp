// GPU scopes for CUDA, through events. Loads NVIDIA's driver at run time; no CUDA header or library is needed. Works
// with programs that use the CUDA runtime or the driver API.
//
//     kymo::CudaContext cuda;                           // uses the current device
//     { KYMO_GPU_SCOPE(cuda.on(stream), "matmul", {"m", m}); launch(stream); }
//     { KYMO_GPU_SCOPE(cuda, "reduce"); launch_on_the_default_stream(); }
//     cuda.collect();                                   // once per step
//
// Component kymo::gpu.
#pragma once

#include <string>

#include <kymo/gpu_scope.hpp>

namespace kymo {

/// Times the work of one CUDA context. Each stream is a track: "GPU 0" for the default stream, "GPU 0 stream 1" and so
/// on for the others, as in Python. Needs a driver of CUDA 10.1 or later.
///
/// Records an event on the stream at each end of a scope. Ten times a second, the clocks are compared through an event
/// on a separate, idle stream. This takes the calling thread up to 100 us, the first time up to 2 ms. Work captured
/// into a graph is not timed.
class KYMO_API CudaContext : public GpuContext {
 public:
  /// Uses the context that is current on this thread; if there is none, the one that CUDA's runtime uses on device 0.
  explicit CudaContext(const GpuOptions& options = {}) : CudaContext("libcuda.so.1", options) {}
  /// The same with another library than libcuda.so.1.
  explicit CudaContext(const std::string& library, const GpuOptions& options = {});

  /// A stream (cudaStream_t, CUstream) of the context, for KYMO_GPU_SCOPE; null is the default stream.
  [[nodiscard]] GpuPlace on(void* stream) noexcept { return {*this, stream}; }
};

}  // namespace kymo
