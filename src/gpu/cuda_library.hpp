// NVIDIA's driver, loaded at run time. Declares the part of its C interface that kymo calls, so that building needs
// nothing from NVIDIA.
#pragma once

#include <memory>
#include <string>

#include "base/system/library_function.hpp"

namespace kymo::gpu {

// Opaque types of the interface, named as in its documentation.
struct cuda_context;
struct cuda_event;
struct cuda_stream;
using CudaContextHandle = cuda_context*;
using CudaEvent = cuda_event*;
using CudaStream = cuda_stream*;

/// Return values of calls.
enum class CudaResult : int {
  success = 0,
  invalid_value = 1,
  invalid_handle = 400,
  not_ready = 600,
  first_of_captures = 900,
  last_of_captures = 908,
};

/// The driver. Never unloaded, since it leaves threads and exit handlers behind.
class CudaLibrary {
 private:
  [[nodiscard]] bool has(const char* name) const { return base::LibraryFunction(handle_, name).is_there(); }
  /// Remembers the first that is missing.
  base::LibraryFunction find(const char* name) {
    missing_ = missing_ == nullptr && !has(name) ? name : missing_;
    return {handle_, name};
  }

  void* handle_;
  const char* missing_ = nullptr;

 public:
  static constexpr int oldest = 10010;  ///< CUDA 10.1, in the format of cuDriverGetVersion
  static constexpr unsigned non_blocking_stream = 1;
  static constexpr int relaxed_capture = 2;

  explicit CudaLibrary(void* handle) : handle_(handle) {}
  /// Null if it cannot be used; `trouble` then gives the reason.
  [[nodiscard]] static std::unique_ptr<const CudaLibrary> open(const std::string& path, std::string& trouble);

  CudaResult (*get_version)(int*) = find("cuDriverGetVersion");
  CudaResult (*initialise)(unsigned) = find("cuInit");
  CudaResult (*get_device)(int*, int) = find("cuDeviceGet");
  CudaResult (*retain_primary)(CudaContextHandle*, int) = find("cuDevicePrimaryCtxRetain");
  /// Renamed in 11.0; the old name still works.
  CudaResult (*release_primary)(int) = find("cuDevicePrimaryCtxRelease");
  CudaResult (*get_current)(CudaContextHandle*) = find("cuCtxGetCurrent");
  CudaResult (*push_current)(CudaContextHandle) = find("cuCtxPushCurrent_v2");
  CudaResult (*pop_current)(CudaContextHandle*) = find("cuCtxPopCurrent_v2");
  CudaResult (*get_context_device)(int*) = find("cuCtxGetDevice");
  CudaResult (*create_stream)(CudaStream*, unsigned) = find("cuStreamCreate");
  CudaResult (*destroy_stream)(CudaStream) = find("cuStreamDestroy_v2");
  CudaResult (*is_capturing)(CudaStream, int*) = find("cuStreamIsCapturing");
  CudaResult (*exchange_capture_mode)(int*) = find("cuThreadExchangeStreamCaptureMode");
  CudaResult (*create_event)(CudaEvent*, unsigned) = find("cuEventCreate");
  CudaResult (*destroy_event)(CudaEvent) = find("cuEventDestroy_v2");
  CudaResult (*record_event)(CudaEvent, CudaStream) = find("cuEventRecord");
  CudaResult (*query_event)(CudaEvent) = find("cuEventQuery");
  CudaResult (*elapsed_ms)(float*, CudaEvent, CudaEvent) = find(has("cuEventElapsedTime") ? "cuEventElapsedTime"
                                                                                          : "cuEventElapsedTime_v2");
};

}  // namespace kymo::gpu
