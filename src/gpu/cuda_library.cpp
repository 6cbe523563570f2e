#include "gpu/cuda_library.hpp"

#include <dlfcn.h>
#include <string>
#include <type_traits>

namespace kymo::gpu {

std::unique_ptr<const CudaLibrary> CudaLibrary::open(const std::string& path, std::string& trouble) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    trouble = "NVIDIA's driver is not here: " + path + " cannot be loaded";
    return nullptr;
  }
  auto library = std::make_unique<CudaLibrary>();
  // The version comes first: an old driver is reported by its version instead of a missing function's name.
  library->get_version = reinterpret_cast<CudaResult (*)(int*)>(::dlsym(handle, "cuDriverGetVersion"));
  int version = 0;
  if (library->get_version == nullptr || library->get_version(&version) != CudaResult::success) {
    trouble = path + " is no driver of CUDA";
    return nullptr;
  }
  if (version < oldest) {
    trouble = "NVIDIA's driver is of CUDA " + std::to_string(version / 1000) + "." +
              std::to_string(version % 1000 / 10) + ", older than 10.1";
    return nullptr;
  }
  if (const char* const missing = library->find_functions(handle)) {
    trouble = std::string("NVIDIA's driver lacks ") + missing;
    return nullptr;
  }
  const CudaResult started = library->initialise(0);
  if (started != CudaResult::success) {
    trouble = "NVIDIA's driver does not start: error " + std::to_string(static_cast<int>(started));
    return nullptr;
  }
  return library;
}

const char* CudaLibrary::find_functions(void* handle) {
  const char* missing = nullptr;
  const auto take = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    missing = function == nullptr && missing == nullptr ? name : missing;
  };
  take("cuInit", initialise);
  take("cuDeviceGet", get_device);
  take("cuDevicePrimaryCtxRetain", retain_primary);
  // Renamed in 11.0; the old name still works.
  take("cuDevicePrimaryCtxRelease", release_primary);
  take("cuCtxGetCurrent", get_current);
  take("cuCtxPushCurrent_v2", push_current);
  take("cuCtxPopCurrent_v2", pop_current);
  take("cuCtxGetDevice", get_context_device);
  take("cuStreamCreate", create_stream);
  take("cuStreamDestroy_v2", destroy_stream);
  take("cuStreamIsCapturing", is_capturing);
  take("cuThreadExchangeStreamCaptureMode", exchange_capture_mode);
  take("cuEventCreate", create_event);
  take("cuEventDestroy_v2", destroy_event);
  take("cuEventRecord", record_event);
  take("cuEventQuery", query_event);
  take(::dlsym(handle, "cuEventElapsedTime") != nullptr ? "cuEventElapsedTime" : "cuEventElapsedTime_v2", elapsed_ms);
  return missing;
}

}  // namespace kymo::gpu
