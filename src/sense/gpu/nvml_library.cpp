#include "sense/gpu/nvml_library.hpp"

#include <dlfcn.h>
#include <unistd.h>
#include <atomic>
#include <map>
#include <mutex>

namespace kymo::sense {

namespace {

struct OpenLibraries {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const NvmlLibrary>> by_path;
  std::size_t initialised = 0;
  /// The process that has initialised libraries or is doing so; 0: none. A forked process inherits an unusable copy of
  /// their state, perhaps with a locked mutex.
  std::atomic<pid_t> process{0};
};

// Never destroyed because sensors may be destroyed after statics.
OpenLibraries& open_libraries() {
  static auto* const libraries = new OpenLibraries;
  return *libraries;
}

}  // namespace

void NvmlLibrary::Unload::operator()(void* handle) const {
  ::dlclose(handle);
}

std::shared_ptr<const NvmlLibrary> NvmlLibrary::open(const std::string& path, std::string& why, std::string& advice) {
  OpenLibraries& libraries = open_libraries();
  const pid_t owner = libraries.process.load();
  if (owner != 0 && owner != ::getpid()) {
    why = "NVML was initialised by the process that this one was forked from, and cannot be used here";
    advice = "start the program anew rather than forking it, or fork before sampling starts";
    return nullptr;
  }
  const std::lock_guard lock(libraries.mutex);
  std::weak_ptr<const NvmlLibrary>& known = libraries.by_path[path];
  if (std::shared_ptr<const NvmlLibrary> library = known.lock()) {
    return library;
  }
  const std::shared_ptr<NvmlLibrary> library(new NvmlLibrary(::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)));
  if (library->handle_ == nullptr) {
    const bool is_there = path.find('/') != std::string::npos && ::access(path.c_str(), F_OK) == 0;
    const char* const reason = ::dlerror();
    why = is_there && reason != nullptr ? reason : path + " is not there";
    advice = "NVIDIA GPUs need NVIDIA's driver; a container has to be given it (docker run --gpus all)";
    return nullptr;
  }
  if (library->initialise_ == nullptr || library->shut_down_ == nullptr || library->get_count == nullptr ||
      library->get_handle == nullptr) {
    why = path + " lacks functions that every version has";
    return nullptr;
  }
  libraries.process = ::getpid();
  const NvmlReturn result = library->initialise_();
  if (result != NvmlReturn::success) {
    libraries.process = libraries.initialised == 0 ? 0 : ::getpid();
    why = "nvmlInit_v2: " + library->describe(result);
    advice = result == NvmlReturn::driver_not_loaded ? "load NVIDIA's kernel module: sudo modprobe nvidia" : "";
    return nullptr;
  }
  ++libraries.initialised;
  library->process_ = ::getpid();
  known = library;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (process_ == 0) {
    return;
  }
  if (!is_of_this_process()) {
    // A forked process leaves the inherited handle alone.
    (void)handle_.release();
    return;
  }
  OpenLibraries& libraries = open_libraries();
  const std::lock_guard lock(libraries.mutex);
  shut_down_();
  if (--libraries.initialised == 0) {
    libraries.process = 0;
  }
}

bool NvmlLibrary::is_of_this_process() const {
  return process_ == ::getpid();
}

std::string NvmlLibrary::describe(NvmlReturn error) const {
  const char* const text = error_string_ == nullptr ? nullptr : error_string_(error);
  return text != nullptr ? text : "error " + std::to_string(static_cast<int>(error));
}

}  // namespace kymo::sense
