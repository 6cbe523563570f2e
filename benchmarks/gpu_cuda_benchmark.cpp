// GPU scopes of CUDA compared with cuEventRecord alone, on the first GPU.
#include <array>
#include <cstddef>
#include <exception>
#include <memory>

#include <kymo/gpu_cuda.hpp>

#include "gpu/cuda_device.hpp"
#include "gpu_scopes.hpp"

namespace kymo::benchmarks {

namespace {

using test::CudaDevice;

/// A pair of events per scope, recorded and read by hand.
class BareEvents {
 public:
  explicit BareEvents(const CudaDevice& device) : device_(device) {
    for (CudaDevice::Event& event : events_) {
      CudaDevice::check(make_(&event, 0), "cuEventCreate");
    }
  }

  void issue(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      record_(events_[i * 2], nullptr);
      keep();
      record_(events_[i * 2 + 1], nullptr);
    }
  }
  void finish() { device_.synchronise(); }
  void fetch() {
    for (std::size_t i = 0; i < events_.size(); i += 2) {
      float since_ms = 0;
      float duration_ms = 0;
      query_(events_[i + 1]);
      elapsed_(&since_ms, events_[0], events_[i]);
      elapsed_(&duration_ms, events_[i], events_[i + 1]);
      benchmark::DoNotOptimize(since_ms);
      benchmark::DoNotOptimize(duration_ms);
    }
  }

 private:
  const CudaDevice& device_;
  int (*make_)(CudaDevice::Event*, unsigned) = device_.function<int(CudaDevice::Event*, unsigned)>("cuEventCreate");
  int (*record_)(CudaDevice::Event,
                 CudaDevice::Stream) = device_.function<int(CudaDevice::Event, CudaDevice::Stream)>("cuEventRecord");
  int (*query_)(CudaDevice::Event) = device_.function<int(CudaDevice::Event)>("cuEventQuery");
  int (*elapsed_)(float*, CudaDevice::Event, CudaDevice::Event) =
      device_.function<int(float*, CudaDevice::Event, CudaDevice::Event)>("cuEventElapsedTime");
  std::array<CudaDevice::Event, 2 * scopes_a_frame> events_{};
};

class GpuScopes {
 public:
  explicit GpuScopes(const CudaDevice& device) : device_(device) {}

  void issue(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      KYMO_GPU_SCOPE(cuda_, "scope");
      keep();
    }
  }
  void finish() { device_.synchronise(); }
  void fetch() { cuda_.collect(); }
  [[nodiscard]] GpuScopeCounts counts() const { return cuda_.counts(); }

 private:
  const CudaDevice& device_;
  CudaContext cuda_;
};

std::unique_ptr<const CudaDevice> device_or_label(benchmark::State& state) {
  try {
    return std::make_unique<const CudaDevice>();
  } catch (const std::exception& absence) {
    state.SetLabel(absence.what());
    return nullptr;
  }
}

/// Without a GPU there is nothing to measure, and no failure.
void gpu_cuda(benchmark::State& state) {
  const std::unique_ptr<const CudaDevice> device = device_or_label(state);
  for (auto _ : state) {
    if (device == nullptr) {
      continue;
    }
    try {
      Recording recording;
      BareEvents bare(*device);
      GpuScopes scopes(*device);
      compare_sides(state, bare, scopes);
      if (scopes.counts().resolved != scopes_a_frame * frames) {
        state.SkipWithError("not every GPU scope was resolved");
      }
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
  }
}
BENCHMARK(gpu_cuda)->Iterations(1)->Repetitions(5)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
