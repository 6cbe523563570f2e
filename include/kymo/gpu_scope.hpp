// GPU scopes: work timed by the GPU itself, next to the CPU time of its submission.
//
//     kymo::OpenGlContext gpu;         // <kymo/gpu_opengl.hpp>; Vulkan and CUDA have their own headers
//     while (...) {
//       {
//         KYMO_GPU_SCOPE(gpu, "shadow pass", {"casters", n});
//         draw_shadows();
//       }
//       gpu.collect();                 // once per frame
//     }
//
// A GPU scope is an ordinary scope on its thread. The GPU's time is a span of the same name on the GPU's track, and a
// flow leads from the scope to the span. Both carry the argument `correlation`, a number that joins them. kymo never
// waits for the GPU: GPU spans appear a few frames later. They carry `clock_bound_ns`, the bound on their offset from
// the processor's clock.
//
// If the GPU's times are unknown (no timers, a lost context, a query that never returned), a span without duration is
// recorded at the submission. It is named "shadow pass (unresolved)" and has the reason in the argument `unresolved`.
// kymo warns once on stderr.
//
// Component kymo::gpu.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <kymo/detail/chrono.hpp>
#include <kymo/detail/cxx_library.hpp>
#include <kymo/export.hpp>
#include <kymo/gpu_driver.hpp>
#include <kymo/scope.hpp>
#include <kymo/span.hpp>

namespace kymo {

namespace gpu {
class Scopes;
}  // namespace gpu

/// Options of a context that times GPU work.
struct KYMO_DETAIL_STANDARD_TYPES GpuOptions {
  static constexpr std::uint32_t greatest_pending = 1U << 20U;

  /// Limit of scopes that are open or wait for the GPU; those beyond are unresolved. Each takes two timers of the API
  /// and 300 bytes.
  std::uint32_t most_pending = 4096;  ///< 1 to greatest_pending
  /// A scope is given up if its times have not arrived this long after it was closed.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
  /// Interval between comparisons of the clocks; made when collecting.
  std::chrono::nanoseconds clock_period = std::chrono::milliseconds(100);
  std::string track;  ///< track name; empty: the API's default
};

/// issued == resolved + unresolved + pending at all times.
struct GpuScopeCounts {
  std::uint64_t issued = 0;
  std::uint64_t resolved = 0;
  std::uint64_t unresolved = 0;
  std::uint64_t pending = 0;  ///< open, or waiting for the GPU
};

/// A scope whose end was not yet submitted to the GPU. For KYMO_GPU_SCOPE.
struct GpuTiming {
  std::shared_ptr<gpu::Scopes> scopes{};
  std::uint64_t correlation = 0;  ///< 0: it becomes part of a graph, and is not timed
  std::uint32_t timer = 0;
};

class GpuContext;

/// The target of submitted work: a context and, for APIs that have several, one of its streams or command buffers.
struct GpuPlace {
  // NOLINTNEXTLINE(google-explicit-constructor): KYMO_GPU_SCOPE(context, "name")
  KYMO_SKIP
  GpuPlace(GpuContext& its_context, void* its_handle = nullptr) noexcept : context(&its_context), handle(its_handle) {}

  GpuContext* context;
  void* handle;
};

/// Times the work of one GPU context, queue or device. Thread-safe within the threading rules of the API; each call
/// holds a lock of the context for some 100 ns. Scopes that outlive the context are unresolved.
class KYMO_API GpuContext {
 public:
  /// Works over any API. Without a driver, the reason is reported with the first scope, and scopes are unresolved.
  explicit GpuContext(GpuDriverOrTrouble driver, const GpuOptions& options = {});
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;
  /// Collects once more; work that the GPU has not finished by then is unresolved. Call flush() first to include it.
  ~GpuContext();

  /// Records the GPU's finished work on its track, and compares the clocks if due. Call it once per frame. Scopes call
  /// it themselves if 64 of them have waited for 5 ms or longer. About 200 ns, plus 300 ns per resolved scope, plus the
  /// API's own time.
  void collect() noexcept;

  /// Collects until nothing is pending; false if that takes longer than `patience`. The work must have been submitted
  /// to the GPU (glFlush, a submitted command buffer). This is the only call that waits.
  bool flush(std::chrono::nanoseconds patience = std::chrono::seconds(1)) noexcept;

  /// Reports that the context was lost or reset (for example, the device is recreated). Open, pending and later scopes
  /// are unresolved. Needed only if the API cannot detect it.
  void lose(std::string_view reason) noexcept;

  /// False if no scope can be timed: there is no driver, or the context was lost.
  [[nodiscard]] bool is_working() const noexcept;
  [[nodiscard]] GpuScopeCounts counts() const noexcept;

  // For KYMO_GPU_SCOPE.
  [[nodiscard]] GpuTiming open(std::string_view name, void* place) noexcept;
  static void add_arguments(const GpuTiming& timing, const Argument* arguments, std::size_t count) noexcept;
  static void close(const GpuTiming& timing) noexcept;

 protected:
  /// collect(), with a place in which timers may be recycled.
  void collect_in(void* place) noexcept;
  [[nodiscard]] GpuDriver* driver() noexcept { return driver_; }

 private:
  GpuDriver* driver_;  // of scopes_; null if there is none
  std::shared_ptr<gpu::Scopes> scopes_;
};

namespace detail {
#if defined(KYMO_DETAIL_PROBES)
inline namespace KYMO_DETAIL_PROBES {
#endif

/// Flow ids from a scope to its GPU span: the scope's number with these bits set, to differ from the program's own
/// flows.
inline constexpr std::uint64_t gpu_flow = std::uint64_t{3} << 62U;

/// An open GPU scope. Made by KYMO_GPU_SCOPE.
class GpuScopeGuard {
 public:
  KYMO_SKIP
  GpuScopeGuard(kymo_site& site, const GpuPlace& place) noexcept : scope_(site) {
    if (scope_.is_recorded()) {
      timing_ = place.context->open(site.name, place.handle);
      if (timing_.correlation != 0) {
        flow_begin(gpu_flow | timing_.correlation);
      }
    }
  }
  GpuScopeGuard(const GpuScopeGuard&) = delete;
  GpuScopeGuard& operator=(const GpuScopeGuard&) = delete;
  KYMO_SKIP
  ~GpuScopeGuard() {
    if (timing_.scopes != nullptr) {
      GpuContext::close(timing_);
    }
  }

  [[nodiscard]] KYMO_SKIP
  bool is_recorded() const noexcept { return scope_.is_recorded(); }

  /// Replaces the place under KYMO_DISABLE; never defined.
  static char ignored(const GpuPlace& place);

  template <std::size_t N>
  KYMO_SKIP
  void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a = none(), const Argument& b = none(),
                 const Argument& c = none(), const Argument& d = none(), const Argument& e = none(),
                 const Argument& f = none()) noexcept {
    const std::array<Argument, 6> list{a, b, c, d, e, f};
    std::size_t count = 0;
    while (count < list.size() && !list[count].name.empty()) {
      ++count;
    }
    if (count != 0) {
      record_arguments(site.argument_names, list.data(), count);
    }
    if (timing_.correlation != 0) {
      static std::uint32_t correlation_name = 0;
      record_argument(correlation_name, {"correlation", timing_.correlation});
    }
    if (count != 0 && timing_.scopes != nullptr) {
      GpuContext::add_arguments(timing_, list.data(), count);
    }
  }

 private:
  KYMO_SKIP
  static Argument none() noexcept { return Argument::from_bits({}, ArgumentType::int64, 0); }

  ScopeGuard scope_;
  GpuTiming timing_{};
};

#if defined(KYMO_DETAIL_PROBES)
}
#endif
}  // namespace detail

}  // namespace kymo

#define KYMO_DETAIL_GPU_SCOPE(id, place, ...)                                                                   \
  KYMO_DETAIL_SITE(KYMO_DETAIL_CONCAT(kymo_gpu_site_, id), KYMO_DETAIL_FIRST(__VA_ARGS__, 0), KYMO_SITE_SCOPE); \
  ::kymo::detail::GpuScopeGuard KYMO_DETAIL_CONCAT(kymo_gpu_scope_, id)(KYMO_DETAIL_CONCAT(kymo_gpu_site_, id), \
                                                                        place);                                 \
  if (KYMO_DETAIL_CONCAT(kymo_gpu_scope_, id).is_recorded())                                                    \
  KYMO_DETAIL_CONCAT(kymo_gpu_scope_, id).arguments(KYMO_DETAIL_CONCAT(kymo_gpu_site_, id), __VA_ARGS__)

#if defined(KYMO_DISABLE)

#define KYMO_GPU_SCOPE(place, ...)                                          \
  static_cast<void>(sizeof(::kymo::detail::GpuScopeGuard::ignored(place)) + \
                    sizeof(::kymo::detail::ScopeGuard::ignored(__VA_ARGS__)))

#else

/// Records the rest of the enclosing block as a scope, and has the GPU time the work submitted in it:
/// KYMO_GPU_SCOPE(context, "shadow pass") or, with up to six arguments,
/// KYMO_GPU_SCOPE(context, "shadow pass", {"casters", n}).
/// A macro of yours may open a scope of the thread beside it. `context` is an OpenGlContext,
/// `vulkan.on(command_buffer)` or `cuda.on(stream)`. Scopes may nest.
///
/// Off, it costs a load and a branch and no call of the API. On, it costs less than a microsecond, plus two calls of
/// the API and its queries for the times.
#define KYMO_GPU_SCOPE(place, ...) KYMO_DETAIL_GPU_SCOPE(__LINE__, place, __VA_ARGS__)

#endif
