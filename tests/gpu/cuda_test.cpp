// GPU scopes of CUDA over a stand-in of NVIDIA's driver, and over the driver where it is.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include <kymo/gpu_cuda.hpp>

#include "base/system/clock.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/fake_cuda.hpp"
#include "gpu/recorded_gpu.hpp"

namespace kymo {
namespace {

using test::CudaDevice;
using test::FakeCuda;
using test::fence_ns;
using test::GpuRecording;
using test::GpuSpan;

void* stream(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): a handle that is never looked into
}

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::internal::CaptureStderr();
    void* const library = ::dlopen(FAKE_CUDA, RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    cuda_ = reinterpret_cast<test::FakeCudaFunction>(::dlsym(library, "fake_cuda"))();
    cuda_->version = 12040;
    cuda_->devices = 1;
    cuda_->has_current = true;
    cuda_->is_capturing = false;
    cuda_->failure = 0;
    cuda_->stuck = 0;
    cuda_->is_side_stuck = false;
    cuda_->rate = 1;
    cuda_->events_recorded = 0;
  }
  void TearDown() override {
    static_cast<void>(::testing::internal::GetCapturedStderr());
    EXPECT_EQ(cuda_->events_alive, 0);
    EXPECT_EQ(cuda_->streams_alive, 0);
    EXPECT_EQ(cuda_->primary_retained, 0);
    EXPECT_EQ(cuda_->pushed, 0);
  }

  /// What a scope's mark says.
  std::string reason(const std::string& library = FAKE_CUDA) {
    CudaContext cuda(library);
    EXPECT_FALSE(cuda.is_working());
    { KYMO_GPU_SCOPE(cuda, "work"); }
    const std::vector<GpuSpan> spans = recording_.spans();
    return spans.empty() ? "" : spans.back().arguments.at("unresolved");
  }

  FakeCuda* cuda_ = nullptr;
  GpuRecording recording_;
};

TEST_F(CudaTest, StreamsAreTracksAsInPython) {
  CudaContext cuda(FAKE_CUDA);
  { KYMO_GPU_SCOPE(cuda, "on the default one"); }
  { KYMO_GPU_SCOPE(cuda.on(stream(0xA)), "on the first"); }
  { KYMO_GPU_SCOPE(cuda.on(stream(0xB)), "on the second"); }
  { KYMO_GPU_SCOPE(cuda.on(stream(0xA)), "on the first again"); }
  ASSERT_TRUE(cuda.flush());
  std::map<std::string, std::string> tracks;
  for (const GpuSpan& span : recording_.spans()) {
    tracks[span.name] = span.track;
  }
  EXPECT_EQ(tracks["on the default one"], "GPU 0");
  EXPECT_EQ(tracks["on the first"], "GPU 0 stream 1");
  EXPECT_EQ(tracks["on the second"], "GPU 0 stream 2");
  EXPECT_EQ(tracks["on the first again"], "GPU 0 stream 1");
}

TEST_F(CudaTest, TimesLieBetweenFencesThoughTheClockDrifts) {
  cuda_->rate = 1.0002;
  GpuOptions options;
  options.clock_period = std::chrono::milliseconds(1);
  CudaContext cuda(FAKE_CUDA, options);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t before = base::monotonic_now_ns();
    { KYMO_GPU_SCOPE(cuda, "work", {"before", before}); }
    const std::int64_t after = base::monotonic_now_ns();
    ASSERT_TRUE(cuda.flush(std::chrono::seconds(30)));
    const GpuSpan span = recording_.spans().back();
    const std::int64_t bound = span.number("clock_bound_ns");
    ASSERT_GE(span.start_ns, before - bound - fence_ns);
    ASSERT_LE(span.end_ns(), after + bound + fence_ns);
  }
}

TEST_F(CudaTest, WithoutACurrentContextThatOfTheRuntimeIsUsed) {
  cuda_->has_current = false;
  CudaContext cuda(FAKE_CUDA);
  EXPECT_EQ(cuda_->primary_retained, 1);
  { KYMO_GPU_SCOPE(cuda, "work"); }
  EXPECT_TRUE(cuda.flush());
  EXPECT_EQ(recording_.spans().at(0).name, "work");
}

TEST_F(CudaTest, EventsAreUsedAgain) {
  CudaContext cuda(FAKE_CUDA);
  for (int i = 0; i < 100; ++i) {
    { KYMO_GPU_SCOPE(cuda, "work"); }
    ASSERT_TRUE(cuda.flush());
  }
  EXPECT_EQ(cuda_->events_alive, 4);  // a pair, and the clock's two
}

TEST_F(CudaTest, AStreamThatStandsHoldsNoOtherUp) {
  cuda_->stuck = 0xA;
  CudaContext cuda(FAKE_CUDA);
  { KYMO_GPU_SCOPE(cuda.on(stream(0xA)), "stuck"); }
  { KYMO_GPU_SCOPE(cuda.on(stream(0xB)), "free"); }
  cuda.collect();
  EXPECT_EQ(cuda.counts().resolved, 1U);
  EXPECT_EQ(cuda.counts().pending, 1U);
}

TEST_F(CudaTest, WhatBecomesAGraphIsNotTimed) {
  CudaContext cuda(FAKE_CUDA);
  cuda_->is_capturing = true;
  { KYMO_GPU_SCOPE(cuda, "work"); }
  EXPECT_EQ(cuda_->events_recorded, 0);
  EXPECT_TRUE(recording_.spans().empty());
}

TEST_F(CudaTest, AGpuThatNeverAnswersGivesNoTimesAndDoesNotBlock) {
  cuda_->is_side_stuck = true;
  GpuOptions options;
  options.patience = std::chrono::milliseconds(20);
  CudaContext cuda(FAKE_CUDA, options);
  { KYMO_GPU_SCOPE(cuda, "work"); }
  EXPECT_TRUE(cuda.flush(std::chrono::seconds(30)));
  EXPECT_EQ(recording_.spans().at(0).arguments.at("unresolved"), "the GPU's clock was not told");
}

TEST_F(CudaTest, AnErrorThatStaysLosesTheContext) {
  CudaContext cuda(FAKE_CUDA);
  { KYMO_GPU_SCOPE(cuda, "work"); }
  cuda_->failure = 700;  // an illegal address
  cuda.collect();
  cuda.collect();
  EXPECT_FALSE(cuda.is_working());
  EXPECT_EQ(cuda.counts().unresolved, 1U);
}

TEST_F(CudaTest, ADriverThatIsOlderThanTheHeader) {
  EXPECT_EQ(reason(FAKE_OLD_CUDA), "NVIDIA's driver lacks cuStreamIsCapturing");
  cuda_->version = 9020;
  EXPECT_EQ(reason(), "NVIDIA's driver is of CUDA 9.2, older than 10.1");
}

TEST_F(CudaTest, AMachineWithoutADriverOrWithoutAGpu) {
  EXPECT_NE(reason("libcuda-that-is-not-here.so").find("is not here"), std::string::npos);
  EXPECT_NE(reason("libc.so.6").find("is no driver of CUDA"), std::string::npos);
  cuda_->devices = 0;
  EXPECT_EQ(reason(), "NVIDIA's driver does not start: error 100");
}

// ---- The driver itself ----

class RealCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = std::make_unique<CudaDevice>();
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::unique_ptr<CudaDevice> device_;
  GpuRecording recording_;
};

TEST_F(RealCudaTest, TimesLieBetweenFencesAroundTheWorkAndLastAsLongAsItsKernel) {
  // The kernel's own two readings of the GPU's clock, which may step by a microsecond, and the time to start and end
  // it.
  constexpr std::int64_t step_ns = 1100;
  constexpr std::int64_t launch_ns = 100'000;
  CudaContext cuda;
  ASSERT_TRUE(cuda.is_working());
  device_->spin(1);
  for (const std::uint64_t wanted_ns : {20'000U, 500'000U, 10'000'000U}) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(device_->synchronise(), 0);
      const std::int64_t before = base::monotonic_now_ns();
      {
        KYMO_GPU_SCOPE(cuda, "spin");
        device_->spin(wanted_ns);
      }
      ASSERT_EQ(device_->synchronise(), 0);
      const std::int64_t after = base::monotonic_now_ns();
      ASSERT_TRUE(cuda.flush(std::chrono::seconds(30)));
      const GpuSpan span = recording_.spans().back();
      const std::int64_t bound = span.number("clock_bound_ns");
      EXPECT_GE(span.start_ns, before - bound - fence_ns);
      EXPECT_LE(span.end_ns(), after + bound + fence_ns);
      const CudaDevice::Spin spun = device_->last_spin();
      const auto kernel_ns = static_cast<std::int64_t>(spun.end_ns - spun.begin_ns);
      EXPECT_GE(kernel_ns, static_cast<std::int64_t>(wanted_ns));
      EXPECT_GE(span.duration_ns, kernel_ns - step_ns);
      EXPECT_LE(span.duration_ns, kernel_ns + launch_ns);
    }
  }
}

TEST_F(RealCudaTest, StreamsThatRunAtTheSameTimeAreTracksThatOverlap) {
  constexpr std::uint64_t long_ns = 20'000'000;
  CudaContext cuda;
  const CudaDevice::Stream one = device_->make_stream();
  const CudaDevice::Stream other = device_->make_stream();
  for (const CudaDevice::Stream stream : {one, other}) {
    KYMO_GPU_SCOPE(cuda.on(stream), "spin");
    device_->spin(long_ns, stream);
  }
  ASSERT_TRUE(cuda.flush(std::chrono::seconds(30)));
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_NE(spans[0].track, spans[1].track);
  EXPECT_LT(std::max(spans[0].start_ns, spans[1].start_ns), std::min(spans[0].end_ns(), spans[1].end_ns()));
}

TEST_F(RealCudaTest, ACaptureIntoAGraphIsNeitherTimedNorSpoilt) {
  GpuOptions options;
  options.clock_period = std::chrono::nanoseconds(1);  // each collection reads the clocks
  CudaContext cuda(options);
  const CudaDevice::Stream stream = device_->make_stream();
  const CudaDevice::Stream other = device_->make_stream();
  { KYMO_GPU_SCOPE(cuda.on(other), "before"); }
  constexpr int strictest = 0;
  ASSERT_EQ((device_->call<CudaDevice::Stream, int>("cuStreamBeginCapture_v2", stream, strictest)), 0);
  {
    KYMO_GPU_SCOPE(cuda.on(stream), "becomes a graph");
    device_->spin(1000, stream);
    { KYMO_GPU_SCOPE(cuda.on(other), "beside"); }
    cuda.collect();
  }
  void* graph = nullptr;
  EXPECT_EQ((device_->call<CudaDevice::Stream, void**>("cuStreamEndCapture", stream, &graph)), 0);
  EXPECT_NE(graph, nullptr);
  { KYMO_GPU_SCOPE(cuda.on(stream), "afterwards"); }
  ASSERT_TRUE(cuda.flush(std::chrono::seconds(30)));
  const std::vector<GpuSpan> spans = recording_.spans();
  EXPECT_EQ(spans.size(), 3U);
  EXPECT_TRUE(test::named(spans, "becomes a graph").empty());
  for (const char* const name : {"before", "beside", "afterwards"}) {
    EXPECT_EQ(test::named(spans, name).size(), 1U) << name;
  }
}

TEST_F(RealCudaTest, AKernelThatFaultsLosesTheContext) {
  ::testing::internal::CaptureStderr();
  {
    CudaContext cuda;
    {
      KYMO_GPU_SCOPE(cuda, "faulty");
      device_->fault();
    }
    EXPECT_NE(device_->synchronise(), 0);
    EXPECT_TRUE(cuda.flush(std::chrono::seconds(30)));
    EXPECT_FALSE(cuda.is_working());
  }
  static_cast<void>(::testing::internal::GetCapturedStderr());
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].arguments.at("unresolved"), "the context was lost");
}

}  // namespace
}  // namespace kymo
