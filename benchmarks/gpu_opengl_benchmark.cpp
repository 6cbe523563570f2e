// GPU scopes of OpenGL compared with glQueryCounter alone, on any available renderer without a display.
#include <array>
#include <memory>
#include <string>

#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include <kymo/gpu_opengl.hpp>

#include "gpu_scopes.hpp"
#include "offscreen.hpp"

namespace kymo::benchmarks {

namespace {

OpenGlContext::Function find(const char* name) {
  static void* const library = ::dlopen("libEGL.so.1", RTLD_NOW);
  static const auto get =
      reinterpret_cast<OpenGlContext::Function (*)(const char*)>(::dlsym(library, "eglGetProcAddress"));
  return get(name);
}

/// A pair of queries per scope, created in advance, issued and read by hand.
class BareQueries {
 public:
  BareQueries() {
    take("glGenQueries", make_);
    take("glQueryCounter", counter_);
    take("glGetQueryObjectuiv", get_);
    take("glGetQueryObjectui64v", get64_);
    take("glFinish", finish_);
    make_(static_cast<GLsizei>(queries_.size()), queries_.data());
  }

  void issue(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      counter_(queries_[i * 2], GL_TIMESTAMP);
      keep();
      counter_(queries_[i * 2 + 1], GL_TIMESTAMP);
    }
  }
  void finish() { finish_(); }
  void fetch() {
    for (const GLuint query : queries_) {
      GLuint is_available = 0;
      GLuint64 time = 0;
      get_(query, GL_QUERY_RESULT_AVAILABLE, &is_available);
      get64_(query, GL_QUERY_RESULT, &time);
      benchmark::DoNotOptimize(time);
    }
  }

 private:
  template <typename Call>
  static void take(const char* name, Call& call) {
    call = reinterpret_cast<Call>(find(name));
  }

  PFNGLGENQUERIESPROC make_ = nullptr;
  PFNGLQUERYCOUNTERPROC counter_ = nullptr;
  PFNGLGETQUERYOBJECTUIVPROC get_ = nullptr;
  PFNGLGETQUERYOBJECTUI64VPROC get64_ = nullptr;
  void (*finish_)() = nullptr;
  std::array<GLuint, 2 * scopes_a_frame> queries_{};
};

class GpuScopes {
 public:
  void issue(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      KYMO_GPU_SCOPE(gpu_, "scope");
      keep();
    }
  }
  void finish() { bare_.finish(); }
  void fetch() { gpu_.collect(); }
  [[nodiscard]] GpuScopeCounts counts() const { return gpu_.counts(); }

 private:
  BareQueries bare_;
  OpenGlContext gpu_{find};
};

void gpu_opengl(benchmark::State& state) {
  for (auto _ : state) {
    try {
      const offscreen::Offscreen screen(64, 64);
      Recording recording;
      BareQueries bare;
      GpuScopes scopes;
      compare_sides(state, bare, scopes);
      const GpuScopeCounts counts = scopes.counts();
      if (counts.resolved != scopes_a_frame * frames) {
        state.SkipWithError("not every GPU scope was resolved");
      }
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
  }
}
BENCHMARK(gpu_opengl)->Iterations(1)->Repetitions(5)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
