// OpenGL drivers as they should not be: old ones, lost ones, ones that count in few bits or in none.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <kymo/gpu_opengl.hpp>

#include "base/system/clock.hpp"
#include "gpu/recorded_gpu.hpp"

namespace kymo {
namespace {

/// What the functions below do. OpenGL's context is one as well.
struct Library {
  const char* version = "4.5 (Core Profile) stand-in";
  std::string extension;
  std::set<std::string> missing;
  int bits = 64;
  unsigned reset_status = 0;
  bool answers = true;
  unsigned made = 0;
  std::set<unsigned> alive;
  std::map<unsigned, std::uint64_t> results;

  [[nodiscard]] std::uint64_t ticks() const {
    const auto now = static_cast<std::uint64_t>(base::monotonic_now_ns());
    return bits >= 64 ? now : now & ((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1);
  }
};

Library library;

const unsigned char* as_text(const char* text) {
  return reinterpret_cast<const unsigned char*>(text);
}
const unsigned char* get_string(unsigned /*name*/) {
  return as_text(library.version);
}
const unsigned char* get_indexed_string(unsigned /*name*/, unsigned /*index*/) {
  return as_text(library.extension.c_str());
}
void get_integer(unsigned /*name*/, int* value) {
  *value = library.extension.empty() ? 0 : 1;
}
void get_integer64(unsigned /*name*/, std::int64_t* value) {
  *value = static_cast<std::int64_t>(library.ticks());
}
void get_query(unsigned /*target*/, unsigned /*name*/, int* value) {
  *value = library.bits;
}
void make_queries(int count, unsigned* names) {
  for (int i = 0; i < count; ++i) {
    names[i] = ++library.made;
    library.alive.insert(names[i]);
  }
}
void delete_queries(int count, const unsigned* names) {
  for (int i = 0; i < count; ++i) {
    library.alive.erase(names[i]);
  }
}
void query_counter(unsigned query, unsigned /*target*/) {
  library.results[query] = library.ticks();
}
void get_query_unsigned(unsigned /*query*/, unsigned /*name*/, unsigned* value) {
  *value = library.answers ? 1 : 0;
}
void get_query_unsigned64(unsigned query, unsigned /*name*/, std::uint64_t* value) {
  *value = library.results[query];
}
unsigned get_reset_status() {
  return library.reset_status;
}

OpenGlContext::Function get_function(const char* name) {
  static const std::map<std::string, OpenGlContext::Function> functions{
      {"glGetString", reinterpret_cast<OpenGlContext::Function>(get_string)},
      {"glGetStringi", reinterpret_cast<OpenGlContext::Function>(get_indexed_string)},
      {"glGetIntegerv", reinterpret_cast<OpenGlContext::Function>(get_integer)},
      {"glGetInteger64v", reinterpret_cast<OpenGlContext::Function>(get_integer64)},
      {"glGetQueryiv", reinterpret_cast<OpenGlContext::Function>(get_query)},
      {"glGenQueries", reinterpret_cast<OpenGlContext::Function>(make_queries)},
      {"glDeleteQueries", reinterpret_cast<OpenGlContext::Function>(delete_queries)},
      {"glQueryCounter", reinterpret_cast<OpenGlContext::Function>(query_counter)},
      {"glGetQueryObjectuiv", reinterpret_cast<OpenGlContext::Function>(get_query_unsigned)},
      {"glGetQueryObjectui64v", reinterpret_cast<OpenGlContext::Function>(get_query_unsigned64)},
      {"glGetGraphicsResetStatus", reinterpret_cast<OpenGlContext::Function>(get_reset_status)},
  };
  const auto found = functions.find(name);
  return found == functions.end() || library.missing.count(name) != 0 ? nullptr : found->second;
}

class OpenGlStandInTest : public ::testing::Test {
 protected:
  void SetUp() override {
    library = Library();
    ::testing::internal::CaptureStderr();
  }
  void TearDown() override { static_cast<void>(::testing::internal::GetCapturedStderr()); }

  /// What a scope's mark says.
  std::string reason() {
    OpenGlContext gpu(get_function);
    EXPECT_FALSE(gpu.is_working());
    { KYMO_GPU_SCOPE(gpu, "work"); }
    EXPECT_EQ(library.made, 0U);
    const std::vector<test::GpuSpan> spans = recording_.spans();
    return spans.empty() ? "" : spans.back().arguments.at("unresolved");
  }

  test::GpuRecording recording_;
};

TEST_F(OpenGlStandInTest, TimeStampsWithoutBits) {
  library.bits = 0;
  EXPECT_EQ(reason(), "this OpenGL driver's time stamps have no bits");
}

TEST_F(OpenGlStandInTest, ContextsBeforeTimerQueries) {
  library.version = "3.2";
  EXPECT_NE(reason().find("GL_ARB_timer_query"), std::string::npos);
  library.version = "OpenGL ES 3.2";
  EXPECT_NE(reason().find("GL_ARB_timer_query"), std::string::npos);
  library.version = nullptr;
  EXPECT_EQ(reason(), "no OpenGL context is current");
}

TEST_F(OpenGlStandInTest, FunctionsThatAreNotThere) {
  library.missing = {"glQueryCounter"};
  EXPECT_EQ(reason(), "this OpenGL lacks functions of timer queries");
  library.missing = {"glGetString"};
  EXPECT_EQ(reason(), "no library with OpenGL is loaded");
}

TEST_F(OpenGlStandInTest, AnOldContextWithTheExtensionIsTimed) {
  library.version = "3.0";
  library.extension = "GL_ARB_timer_query";
  library.missing = {"glGetGraphicsResetStatus"};
  OpenGlContext gpu(get_function);
  { KYMO_GPU_SCOPE(gpu, "work"); }
  EXPECT_TRUE(gpu.flush());
  EXPECT_EQ(recording_.spans().at(0).name, "work");
}

TEST_F(OpenGlStandInTest, AResetIsSeenAndQueriesOfTheLostContextAreLeftAlone) {
  {
    OpenGlContext gpu(get_function);
    KYMO_GPU_SCOPE(gpu, "work");
    library.reset_status = 0x8253;  // GL_GUILTY_CONTEXT_RESET
    gpu.collect();
    EXPECT_FALSE(gpu.is_working());
    EXPECT_EQ(gpu.counts().unresolved, 1U);
  }
  EXPECT_EQ(library.alive.size(), 2U);
}

TEST_F(OpenGlStandInTest, QueriesThatWereGivenUpAreNotUsedAgain) {
  GpuOptions options;
  options.patience = std::chrono::nanoseconds(0);
  {
    OpenGlContext gpu(get_function, options);
    library.answers = false;
    { KYMO_GPU_SCOPE(gpu, "lost"); }
    gpu.collect();
    EXPECT_EQ(gpu.counts().unresolved, 1U);
    library.answers = true;
    { KYMO_GPU_SCOPE(gpu, "work"); }
    gpu.collect();
    EXPECT_EQ(gpu.counts().resolved, 1U);
    EXPECT_EQ(library.alive, (std::set<unsigned>{3, 4}));
  }
  EXPECT_TRUE(library.alive.empty());
}

TEST_F(OpenGlStandInTest, FewBitsAreUnwrapped) {
  library.bits = 30;  // a turn lasts 1.07 s
  OpenGlContext gpu(get_function);
  const std::int64_t before = base::monotonic_now_ns();
  { KYMO_GPU_SCOPE(gpu, "work"); }
  ASSERT_TRUE(gpu.flush());
  const test::GpuSpan span = recording_.spans().at(0);
  EXPECT_GE(span.start_ns, before);
  EXPECT_LE(span.end_ns(), base::monotonic_now_ns());
}

}  // namespace
}  // namespace kymo
