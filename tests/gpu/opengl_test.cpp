// GPU scopes of OpenGL on a driver that draws without a GPU.
#include <gtest/gtest.h>

#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>

#include <kymo/gpu_opengl.hpp>

#include "base/system/clock.hpp"
#include "gpu/recorded_gpu.hpp"
#include "offscreen.hpp"

namespace kymo {
namespace {

using test::fence_ns;
using test::GpuRecording;
using test::GpuSpan;

template <typename Function>
void find(const char* name, Function& function) {
  static void* const library = ::dlopen("libEGL.so.1", RTLD_NOW);
  static const auto get = reinterpret_cast<PFNEGLGETPROCADDRESSPROC>(::dlsym(library, "eglGetProcAddress"));
  function = reinterpret_cast<Function>(get(name));
  ASSERT_NE(function, nullptr) << name;
}

class OpenGlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      screen_ = std::make_unique<offscreen::Offscreen>(256, 256);
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
    find("glFinish", finish_);
    find("glGetError", get_error_);
  }

  /// Work that takes a while.
  void draw() const {
    for (int i = 0; i < 3; ++i) {
      screen_->clear(0.2F, 0.4F, 0.6F);
    }
  }

  std::unique_ptr<offscreen::Offscreen> screen_;
  GpuRecording recording_;
  void (*finish_)() = nullptr;
  GLenum (*get_error_)() = nullptr;
};

TEST_F(OpenGlTest, TimesLieBetweenFencesAroundTheWork) {
  OpenGlContext gpu;
  ASSERT_TRUE(gpu.is_working());
  struct Fence {
    std::int64_t before = 0;
    std::int64_t after = 0;
  };
  std::vector<Fence> fences;
  for (int i = 0; i < 20; ++i) {
    finish_();
    Fence fence{base::monotonic_now_ns(), 0};
    {
      KYMO_GPU_SCOPE(gpu, "work", {"number", i});
      draw();
    }
    finish_();
    fence.after = base::monotonic_now_ns();
    fences.push_back(fence);
    gpu.collect();
  }
  ASSERT_TRUE(gpu.flush(std::chrono::seconds(30)));
  const std::vector<GpuSpan> spans = test::named(recording_.spans(), "work");
  ASSERT_EQ(spans.size(), fences.size());
  for (const GpuSpan& span : spans) {
    const Fence& fence = fences[static_cast<std::size_t>(span.number("number"))];
    const std::int64_t bound = span.number("clock_bound_ns");
    EXPECT_EQ(span.track, "GPU OpenGL");
    EXPECT_GE(span.start_ns, fence.before - bound - fence_ns);
    EXPECT_LE(span.end_ns(), fence.after + bound + fence_ns);
    EXPECT_GT(span.duration_ns, 0);
  }
  EXPECT_EQ(get_error_(), static_cast<GLenum>(GL_NO_ERROR));
}

TEST_F(OpenGlTest, TheBestBoundIsTighterThanTheGoal) {
  OpenGlContext gpu;
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < 2000 && best > fence_ns; ++i) {
    {
      KYMO_GPU_SCOPE(gpu, "work");
      screen_->clear(0, 0, 0);
    }
    ASSERT_TRUE(gpu.flush(std::chrono::seconds(30)));
    best = recording_.spans().back().number("clock_bound_ns");
  }
  EXPECT_LE(best, fence_ns);
}

TEST_F(OpenGlTest, AScopeWithinAnotherLiesWithinItOnTheGpu) {
  OpenGlContext gpu(
      reinterpret_cast<OpenGlContext::GetFunction>(::dlsym(::dlopen("libEGL.so.1", RTLD_NOW), "eglGetProcAddress")));
  {
    KYMO_GPU_SCOPE(gpu, "outer");
    draw();
    {
      KYMO_GPU_SCOPE(gpu, "inner");
      draw();
    }
  }
  finish_();
  ASSERT_TRUE(gpu.flush(std::chrono::seconds(30)));
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].name, "inner");
  EXPECT_LE(spans[1].start_ns, spans[0].start_ns);
  EXPECT_GE(spans[1].end_ns() + 1, spans[0].end_ns());
}

TEST_F(OpenGlTest, QueriesAreUsedAgain) {
  GpuOptions options;
  options.most_pending = 8;
  OpenGlContext gpu(nullptr, options);
  for (int i = 0; i < 50; ++i) {
    {
      KYMO_GPU_SCOPE(gpu, "work");
      screen_->clear(0, 0, 0);
    }
    ASSERT_TRUE(gpu.flush(std::chrono::seconds(30)));
  }
  EXPECT_EQ(gpu.counts().resolved, 50U);
  EXPECT_EQ(gpu.counts().unresolved, 0U);
}

TEST_F(OpenGlTest, WithoutRecordingNoQueryIsMade) {
  recording_.stop();
  {
    OpenGlContext gpu;
    { KYMO_GPU_SCOPE(gpu, "work"); }
    EXPECT_EQ(gpu.counts().issued, 0U);
    unsigned query = 0;
    void (*make)(GLsizei, GLuint*) = nullptr;
    find("glGenQueries", make);
    make(1, &query);
    EXPECT_EQ(query, 1U);  // the first that this context makes
  }
}

TEST_F(OpenGlTest, WithoutACurrentContextScopesAreMarked) {
  screen_.reset();
  ::testing::internal::CaptureStderr();
  {
    OpenGlContext gpu;
    EXPECT_FALSE(gpu.is_working());
    KYMO_GPU_SCOPE(gpu, "work");
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("OpenGL"), std::string::npos);
  EXPECT_EQ(recording_.spans().at(0).name, "work (unresolved)");
}

}  // namespace
}  // namespace kymo
