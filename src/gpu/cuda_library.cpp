#include "gpu/cuda_library.hpp"

#include <dlfcn.h>
#include <string>

namespace kymo::gpu {

std::unique_ptr<const CudaLibrary> CudaLibrary::open(const std::string& path, std::string& trouble) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    trouble = "NVIDIA's driver is not here: " + path + " cannot be loaded";
    return nullptr;
  }
  auto library = std::make_unique<CudaLibrary>(handle);
  // The version comes first: an old driver is reported by its version instead of a missing function's name.
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
  if (library->missing_ != nullptr) {
    trouble = std::string("NVIDIA's driver lacks ") + library->missing_;
    return nullptr;
  }
  const CudaResult started = library->initialise(0);
  if (started != CudaResult::success) {
    trouble = "NVIDIA's driver does not start: error " + std::to_string(static_cast<int>(started));
    return nullptr;
  }
  return library;
}

}  // namespace kymo::gpu
