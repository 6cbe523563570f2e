// NVIDIA's driver, loaded at run time. Declares the part of its C interface that kymo calls, so that building needs
// nothing from NVIDIA.
#pragma once

#include <memory>
#include <string>

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
 public:
  static constexpr int oldest = 10010;  ///< CUDA 10.1, in the format of cuDriverGetVersion
  static constexpr unsigned non_blocking_stream = 1;
  static constexpr int relaxed_capture = 2;

  /// Null if it cannot be used; `trouble` then gives the reason.
  [[nodiscard]] static std::unique_ptr<const CudaLibrary> open(const std::string& path, std::string& trouble);

  CudaResult (*initialise)(unsigned) = nullptr;
  CudaResult (*get_version)(int*) = nullptr;
  CudaResult (*get_device)(int*, int) = nullptr;
  CudaResult (*retain_primary)(CudaContextHandle*, int) = nullptr;
  CudaResult (*release_primary)(int) = nullptr;
  CudaResult (*get_current)(CudaContextHandle*) = nullptr;
  CudaResult (*push_current)(CudaContextHandle) = nullptr;
  CudaResult (*pop_current)(CudaContextHandle*) = nullptr;
  CudaResult (*get_context_device)(int*) = nullptr;
  CudaResult (*create_stream)(CudaStream*, unsigned) = nullptr;
  CudaResult (*destroy_stream)(CudaStream) = nullptr;
  CudaResult (*is_capturing)(CudaStream, int*) = nullptr;
  CudaResult (*exchange_capture_mode)(int*) = nullptr;
  CudaResult (*create_event)(CudaEvent*, unsigned) = nullptr;
  CudaResult (*destroy_event)(CudaEvent) = nullptr;
  CudaResult (*record_event)(CudaEvent, CudaStream) = nullptr;
  CudaResult (*query_event)(CudaEvent) = nullptr;
  CudaResult (*elapsed_ms)(float*, CudaEvent, CudaEvent) = nullptr;

 private:
  /// The name of a missing function; null if there is none.
  const char* find_functions(void* handle);
};

}  // namespace kymo::gpu
