// GPU scopes of CUDA, by events. NVIDIA's driver is loaded at run time: nothing of CUDA is included or linked, and
// programs that use its runtime or its driver interface are served alike.
//
//     kymo::CudaContext cuda;                           // of the device that is current
//     { KYMO_GPU_SCOPE(cuda.on(stream), "matmul", {"m", m}); launch(stream); }
//     { KYMO_GPU_SCOPE(cuda, "reduce"); launch_on_the_default_stream(); }
//     cuda.collect();                                   // once a step
//
// Component kymo::gpu.
#pragma once

#include <string>

#include <kymo/gpu_scope.hpp>

namespace kymo {

/// Times the work of one CUDA context. Each stream is a track: "GPU 0" for the default stream, "GPU 0 stream 1" and so
/// on for others, as in Python. Needs a driver of CUDA 10.1 or later.
///
/// An event is recorded on the stream at each end of a scope. The clocks are compared by an event on a stream of its
/// own, where nothing else waits, ten times a second: that takes the calling thread up to 100 us, the first time up to
/// 2 ms. What is captured into a graph is not timed.
class KYMO_API CudaContext : public GpuContext {
 public:
  /// Of the context that is current on this thread; where there is none, of the one that CUDA's runtime uses on device
  /// 0.
  explicit CudaContext(const GpuOptions& options = {}) : CudaContext("libcuda.so.1", options) {}
  /// The same by another library than the driver's own.
  explicit CudaContext(const std::string& library, const GpuOptions& options = {});

  /// A stream (cudaStream_t, CUstream) of the context, for KYMO_GPU_SCOPE; null is the default stream.
  [[nodiscard]] GpuPlace on(void* stream) noexcept { return {*this, stream}; }
};

}  // namespace kymo
