// NVIDIA's driver, loaded at run time: the part of its C interface that kymo calls, declared here so that nothing of
// NVIDIA's is needed to build.
#pragma once

#include <memory>
#include <string>

namespace kymo::gpu {

// Types of the interface, as its documentation lays them out; they are never looked into.
struct cuda_context;
struct cuda_event;
struct cuda_stream;
using CudaContextHandle = cuda_context*;
using CudaEvent = cuda_event*;
using CudaStream = cuda_stream*;

/// What calls return.
enum class CudaResult : int {
  success = 0,
  invalid_value = 1,
  invalid_handle = 400,
  not_ready = 600,
  first_of_captures = 900,
  last_of_captures = 908,
};

/// The driver; never unloaded, since it leaves threads and exit handlers behind.
class CudaLibrary {
 public:
  static constexpr int oldest = 10010;  ///< CUDA 10.1, as cuDriverGetVersion tells it
  static constexpr unsigned non_blocking_stream = 1;
  static constexpr int relaxed_capture = 2;

  /// Null where it cannot be used, and why in `trouble`.
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
  /// The name of one that is missing; null where all are there.
  const char* find_functions(void* handle);
};

}  // namespace kymo::gpu
