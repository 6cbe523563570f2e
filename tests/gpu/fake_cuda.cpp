// A stand-in of NVIDIA's driver: events that pass at once, or as a test says. Built as a library of its own.
#include "fake_cuda.hpp"

#include <ctime>

namespace {

using kymo::test::FakeCuda;

struct Event {
  std::uintptr_t stream = 0;
  double ns = 0;
  bool is_recorded = false;
};

constexpr std::uintptr_t side_stream = 0x51DE;
constexpr std::uintptr_t context = 0xC0;
constexpr int success = 0;
constexpr int invalid_handle = 400;
constexpr int not_ready = 600;

FakeCuda fake;

double gpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return (static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec)) * fake.rate;
}

bool is_stuck(const Event& event) {
  return event.stream == side_stream ? fake.is_side_stuck.load() : fake.stuck != 0 && event.stream == fake.stuck;
}

}  // namespace

#define EXPORTED __attribute__((visibility("default")))

extern "C" {
EXPORTED FakeCuda* fake_cuda() {
  return &fake;
}
EXPORTED int cuInit(unsigned) {
  return fake.devices > 0 ? success : 100;
}
EXPORTED int cuDriverGetVersion(int* version) {
  *version = fake.version;
  return success;
}
EXPORTED int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < fake.devices ? success : 101;
}
EXPORTED int cuDevicePrimaryCtxRetain(std::uintptr_t* primary, int) {
  ++fake.primary_retained;
  *primary = context;
  return success;
}
EXPORTED int cuDevicePrimaryCtxRelease(int) {
  --fake.primary_retained;
  return success;
}
EXPORTED int cuCtxGetCurrent(std::uintptr_t* current) {
  *current = fake.has_current || fake.pushed > 0 ? context : 0;
  return success;
}
EXPORTED int cuCtxPushCurrent_v2(std::uintptr_t) {
  ++fake.pushed;
  return success;
}
EXPORTED int cuCtxPopCurrent_v2(std::uintptr_t*) {
  --fake.pushed;
  return success;
}
EXPORTED int cuCtxGetDevice(int* device) {
  *device = 0;
  return success;
}
EXPORTED int cuStreamCreate(std::uintptr_t* stream, unsigned flags) {
  ++fake.streams_alive;
  *stream = side_stream;
  return flags == 1 ? success : 1;
}
EXPORTED int cuStreamDestroy_v2(std::uintptr_t) {
  --fake.streams_alive;
  return success;
}
EXPORTED int cuEventCreate(Event** event, unsigned) {
  ++fake.events_alive;
  *event = new Event;
  return success;
}
EXPORTED int cuEventDestroy_v2(Event* event) {
  --fake.events_alive;
  delete event;
  return success;
}
EXPORTED int cuEventRecord(Event* event, std::uintptr_t stream) {
  ++fake.events_recorded;
  *event = {stream, gpu_ns(), true};
  return success;
}
EXPORTED int cuEventQuery(Event* event) {
  if (fake.failure != 0 && event->stream != side_stream) {
    return fake.failure;
  }
  return is_stuck(*event) ? not_ready : success;
}
EXPORTED int cuEventElapsedTime(float* ms, Event* from, Event* to) {
  if (!from->is_recorded || !to->is_recorded) {
    return invalid_handle;
  }
  if (is_stuck(*from) || is_stuck(*to)) {
    return not_ready;
  }
  *ms = static_cast<float>((to->ns - from->ns) / 1e6);
  return success;
}
#if !defined(FAKE_CUDA_IS_OLD)
EXPORTED int cuStreamIsCapturing(std::uintptr_t, int* status) {
  *status = fake.is_capturing ? 1 : 0;
  return success;
}
EXPORTED int cuThreadExchangeStreamCaptureMode(int*) {
  return success;
}
#endif
}
