// NVIDIA's driver and a kernel that takes a known time, for tests and benchmarks on machines with a GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

namespace kymo::test {

/// A context of CUDA on the first GPU, current on the thread that makes it.
class CudaDevice {
 public:
  using Context = void*;
  using Stream = void*;
  using Event = void*;

  /// Throws where no GPU answers.
  CudaDevice() {
    if (library_ == nullptr) {
      throw std::runtime_error("NVIDIA's driver is not on this machine");
    }
    if (call<unsigned>("cuInit", 0) != 0) {
      throw std::runtime_error("NVIDIA's driver finds no GPU");
    }
    check(call<Context*, unsigned, int>("cuCtxCreate_v2", &context_, 0, 0), "cuCtxCreate");
    check(call<Module*, const void*>("cuModuleLoadData", &module_, kernels), "cuModuleLoadData");
    check(call<Function*, Module, const char*>("cuModuleGetFunction", &spin_, module_, "spin"), "spin");
    check(call<Function*, Module, const char*>("cuModuleGetFunction", &fault_, module_, "fault"), "fault");
    check(call<std::uint64_t*, std::size_t>("cuMemAlloc_v2", &times_, sizeof(Spin)), "cuMemAlloc");
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() { call<Context>("cuCtxDestroy_v2", context_); }

  /// When a kernel began and ended, by the GPU's own clock.
  struct Spin {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };

  /// Keeps a stream busy for so long, by the GPU's own clock.
  void spin(std::uint64_t ns, Stream stream = nullptr) const {
    std::uint64_t times = times_;
    std::array<void*, 2> arguments{&times, &ns};
    launch(spin_, stream, arguments.data());
  }
  /// The last spin's times. Waits for the GPU.
  [[nodiscard]] Spin last_spin() const {
    Spin spin;
    check(call<void*, std::uint64_t, std::size_t>("cuMemcpyDtoH_v2", &spin, times_, sizeof spin), "cuMemcpyDtoH");
    return spin;
  }
  /// Writes where nothing is: the context is lost from then on.
  void fault() const { launch(fault_, nullptr, nullptr); }
  /// Waits for the GPU; the driver's error.
  int synchronise() const { return call("cuCtxSynchronize"); }

  [[nodiscard]] Stream make_stream() const {
    constexpr unsigned non_blocking = 1;
    Stream stream = nullptr;
    check(call<Stream*, unsigned>("cuStreamCreate", &stream, non_blocking), "cuStreamCreate");
    return stream;
  }

  /// A function of the driver.
  template <typename Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    const auto found = reinterpret_cast<Signature*>(::dlsym(library_, name));
    if (found == nullptr) {
      throw std::runtime_error(std::string("NVIDIA's driver lacks ") + name);
    }
    return found;
  }
  /// Calls a function of the driver, which returns its error.
  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return function<int(Arguments...)>(name)(arguments...);
  }
  static void check(int error, const char* what) {
    if (error != 0) {
      throw std::runtime_error(std::string(what) + ": error " + std::to_string(error));
    }
  }

 private:
  using Module = void*;
  using Function = void*;

  static constexpr const char* kernels = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 times, .param .u64 ns)
{
  .reg .pred %done;
  .reg .u64 %times, %wanted, %begin, %now, %since;
  ld.param.u64 %times, [times];
  ld.param.u64 %wanted, [ns];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %since, %now, %begin;
  setp.ge.u64 %done, %since, %wanted;
  @!%done bra again;
  cvta.to.global.u64 %times, %times;
  st.global.u64 [%times], %begin;
  st.global.u64 [%times+8], %now;
  ret;
}
.visible .entry fault()
{
  .reg .u64 %nowhere;
  mov.u64 %nowhere, 64;
  st.global.u64 [%nowhere], %nowhere;
  ret;
}
)";

  void launch(Function function, Stream stream, void** arguments) const {
    check(call<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**>(
              "cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
          "cuLaunchKernel");
  }

  void* const library_ = ::dlopen("libcuda.so.1", RTLD_NOW);
  Context context_ = nullptr;
  Module module_ = nullptr;
  Function spin_ = nullptr;
  Function fault_ = nullptr;
  std::uint64_t times_ = 0;
};

}  // namespace kymo::test
