// What GPU scopes need of a graphics or compute API. Implemented for OpenGL, Vulkan and CUDA; implement it for another.
//
// Component kymo::gpu.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <kymo/export.hpp>

namespace kymo {

/// A GPU's clock and CLOCK_MONOTONIC at one moment: `cpu_ns` is off by at most `bound_ns` either way.
struct GpuClockPair {
  std::uint64_t ticks = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t bound_ns = 0;
};

/// How a GPU counts time. Times wrap after `valid_bits` bits.
struct GpuClockFacts {
  double ns_per_tick = 1;
  unsigned valid_bits = 64;
};

/// When the GPU came to the beginning and to the end of a scope, in ticks.
struct GpuTimes {
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
};

enum class GpuAnswer : std::uint8_t {
  ready,    ///< the times are there
  pending,  ///< the GPU has not come to the end
  failed,   ///< there will be no times
};

/// The timers of one API. A timer holds the two times of one scope; they are numbered from 0 up to
/// GpuOptions::most_pending. No call waits for the GPU or throws. The context makes one call at a time.
class KYMO_API GpuDriver {
 public:
  GpuDriver() = default;
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;
  virtual ~GpuDriver();

  [[nodiscard]] virtual GpuClockFacts clock() const noexcept = 0;
  /// Both clocks now; none where that cannot be told now. Asked for ten times a second at most.
  [[nodiscard]] virtual std::optional<GpuClockPair> read_clock() noexcept = 0;
  /// The track that work of a place (a stream, a command buffer; null where an API has none) stands on.
  [[nodiscard]] virtual std::string track_name(void* place) = 0;
  /// Whether work that is handed to this place is run by the GPU once: not where it becomes a graph to be run later.
  [[nodiscard]] virtual bool is_timed(void* place) noexcept;

  /// Has the GPU note its time when it comes to this point of the place. False where it cannot.
  virtual bool write_begin(std::uint32_t timer, void* place) noexcept = 0;
  virtual bool write_end(std::uint32_t timer, void* place) noexcept = 0;
  /// Whether a scope's times are there. Costs no flush, and is asked in the order in which scopes of a place ended.
  [[nodiscard]] virtual GpuAnswer ask(std::uint32_t timer, GpuTimes& times) noexcept = 0;
  /// Makes a timer ready for another scope. `has_answered` is false for one that was given up while the GPU may write
  /// to it yet. False where that cannot be done now: it is asked again.
  virtual bool recycle(std::uint32_t timer, bool has_answered) noexcept = 0;
  /// Until the next call of this, timers may be recycled by commands in this place; null: they may not. Of APIs that
  /// need it.
  virtual void recycle_in(void* place) noexcept;
  /// The context, device or driver is gone, and answers nothing any more.
  [[nodiscard]] virtual bool is_lost() noexcept = 0;
};

/// A driver, or what is the matter where there is none.
struct GpuDriverOrTrouble {
  std::unique_ptr<GpuDriver> driver;
  std::string trouble;
};

}  // namespace kymo
