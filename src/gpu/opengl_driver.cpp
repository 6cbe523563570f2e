#include "gpu/opengl_driver.hpp"

#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/system/clock.hpp"

namespace kymo::gpu {

namespace {

constexpr int most_extensions = 65536;
/// The clock is read up to three times, until the bound of a reading is this tight.
constexpr std::int64_t tight_ns = 10'000;

void* find_loaded(const char* library, const char* name) {
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, name)) {
    return symbol;
  }
  // For libraries that the program loaded with local symbols. The handle is kept: programs that draw with the library
  // never unload it.
  void* const handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr ? ::dlsym(handle, name) : nullptr;
}

/// The loader function of the window system that created the current context.
OpenGlContext::GetFunction find_get_function() {
  const auto egl_context = reinterpret_cast<void* (*)()>(find_loaded("libEGL.so.1", "eglGetCurrentContext"));
  if (egl_context != nullptr && egl_context() != nullptr) {
    return reinterpret_cast<OpenGlContext::GetFunction>(find_loaded("libEGL.so.1", "eglGetProcAddress"));
  }
  for (const char* const library : {"libGL.so.1", "libGLX.so.0"}) {
    if (void* const function = find_loaded(library, "glXGetProcAddressARB")) {
      return reinterpret_cast<OpenGlContext::GetFunction>(function);
    }
  }
  return [](const char* name) { return reinterpret_cast<OpenGlContext::Function>(::dlsym(RTLD_DEFAULT, name)); };
}

/// "4.5 (Compatibility Profile) Mesa 22.3.6" is 405, "OpenGL ES 3.2" 0.
unsigned read_version(const unsigned char* text) {
  if (text == nullptr || text[0] < '0' || text[0] > '9') {
    return 0;
  }
  char* end = nullptr;
  const unsigned long major = std::strtoul(reinterpret_cast<const char*>(text), &end, 10);
  const unsigned long minor = *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
  return static_cast<unsigned>(std::min(major, 1000UL) * 100 + std::min(minor, 99UL));
}

}  // namespace

bool OpenGlCalls::find(OpenGlContext::GetFunction get_function, std::string& trouble) {
  const OpenGlContext::GetFunction get = get_function != nullptr ? get_function : find_get_function();
  const auto take = [get](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(name));
    return function != nullptr;
  };
  if (get == nullptr || !take("glGetString", get_string) || !take("glGetIntegerv", get_integer)) {
    trouble = "no library with OpenGL is loaded";
    return false;
  }
  const unsigned number = read_version(get_string(version));
  if (get_string(version) == nullptr) {
    trouble = "no OpenGL context is current";
    return false;
  }
  take("glGetStringi", get_indexed_string);
  // Loaders also return functions that the context lacks, so its version and extensions decide.
  const auto has_extension = [&](std::string_view wanted) {
    int count = 0;
    if (number >= 300 && get_indexed_string != nullptr) {
      get_integer(extension_count, &count);
    }
    for (int i = 0; i < std::min(count, most_extensions); ++i) {
      const auto* const name = reinterpret_cast<const char*>(get_indexed_string(extensions, static_cast<unsigned>(i)));
      if (name != nullptr && wanted == name) {
        return true;
      }
    }
    return false;
  };
  if (number < 303 && !has_extension("GL_ARB_timer_query")) {
    trouble = "this OpenGL context has no timer queries: it is older than 3.3 and has no GL_ARB_timer_query";
    return false;
  }
  if (!take("glGetInteger64v", get_integer64) || !take("glGetQueryiv", get_query) ||
      !take("glGenQueries", make_queries) || !take("glDeleteQueries", delete_queries) ||
      !take("glQueryCounter", query_counter) || !take("glGetQueryObjectuiv", get_query_unsigned) ||
      !take("glGetQueryObjectui64v", get_query_unsigned64)) {
    trouble = "this OpenGL lacks functions of timer queries";
    return false;
  }
  if (number >= 405 || has_extension("GL_KHR_robustness")) {
    take("glGetGraphicsResetStatus", get_reset_status);
  }
  return true;
}

GpuDriverOrTrouble OpenGlDriver::make(OpenGlContext::GetFunction get_function) {
  OpenGlCalls calls;
  std::string trouble;
  if (!calls.find(get_function, trouble)) {
    return {nullptr, trouble};
  }
  int bits = 0;
  calls.get_query(OpenGlCalls::timestamp, OpenGlCalls::counter_bits, &bits);
  if (bits < 1) {
    return {nullptr, "this OpenGL driver's time stamps have no bits"};
  }
  return {std::make_unique<OpenGlDriver>(calls, static_cast<unsigned>(std::min(bits, 64))), {}};
}

OpenGlDriver::~OpenGlDriver() {
  if (is_lost_) {
    return;
  }
  for (const Queries& queries : queries_) {
    calls_.delete_queries(2, queries.data());
  }
}

GpuClockFacts OpenGlDriver::clock() const noexcept {
  return {1, valid_bits_};
}

std::optional<GpuClockPair> OpenGlDriver::read_clock() noexcept {
  std::optional<GpuClockPair> best;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::int64_t ticks = 0;
    const std::int64_t before = base::monotonic_now_ns();
    calls_.get_integer64(OpenGlCalls::timestamp, &ticks);
    const std::int64_t after = base::monotonic_now_ns();
    if (ticks == 0) {
      return std::nullopt;
    }
    if (!best || (after - before + 1) / 2 < best->bound_ns) {
      best = {static_cast<std::uint64_t>(ticks), before + (after - before) / 2, (after - before + 1) / 2};
    }
    if (best->bound_ns <= tight_ns) {
      break;
    }
  }
  return best;
}

std::string OpenGlDriver::track_name(void* /*place*/) {
  return "GPU OpenGL";
}

bool OpenGlDriver::make_room(std::uint32_t timer) {
  try {
    if (timer >= queries_.size()) {
      queries_.resize(timer + 1);
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  auto& [begin, end] = queries_[timer];
  if (begin == 0) {
    calls_.make_queries(2, queries_[timer].data());
  }
  return begin != 0 && end != 0;
}

bool OpenGlDriver::write_begin(std::uint32_t timer, void* /*place*/) noexcept {
  if (!make_room(timer)) {
    return false;
  }
  calls_.query_counter(queries_[timer].front(), OpenGlCalls::timestamp);
  return true;
}

bool OpenGlDriver::write_end(std::uint32_t timer, void* /*place*/) noexcept {
  calls_.query_counter(queries_[timer].back(), OpenGlCalls::timestamp);
  return true;
}

GpuAnswer OpenGlDriver::ask(std::uint32_t timer, GpuTimes& times) noexcept {
  const auto& [begin, end] = queries_[timer];
  // The end first: it comes later, and if it is not available the begin need not be queried.
  for (const unsigned query : {end, begin}) {
    unsigned is_available = 0;
    calls_.get_query_unsigned(query, OpenGlCalls::result_available, &is_available);
    if (is_available == 0) {
      return GpuAnswer::pending;
    }
  }
  calls_.get_query_unsigned64(begin, OpenGlCalls::result, &times.begin_ticks);
  calls_.get_query_unsigned64(end, OpenGlCalls::result, &times.end_ticks);
  return GpuAnswer::ready;
}

bool OpenGlDriver::recycle(std::uint32_t timer, bool has_answered) noexcept {
  if (!has_answered) {
    // A late answer is discarded; the timer gets new queries.
    calls_.delete_queries(2, queries_[timer].data());
    queries_[timer] = {};
  }
  return true;
}

bool OpenGlDriver::is_lost() noexcept {
  is_lost_ = is_lost_ || (calls_.get_reset_status != nullptr && calls_.get_reset_status() != 0);
  return is_lost_;
}

}  // namespace kymo::gpu

namespace kymo {

OpenGlContext::OpenGlContext(GetFunction get_function, const GpuOptions& options)
    : GpuContext(gpu::OpenGlDriver::make(get_function), options) {}

}  // namespace kymo
