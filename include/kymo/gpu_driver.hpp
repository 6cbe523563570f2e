// The interface between GPU scopes and a graphics or compute API. Implemented for OpenGL, Vulkan and CUDA; other APIs
// can be added.
//
// Component kymo::gpu.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <kymo/export.hpp>

namespace kymo {

/// A GPU's clock and CLOCK_MONOTONIC at one moment: `cpu_ns` is off by at most `bound_ns` in either direction.
struct GpuClockPair {
  std::uint64_t ticks = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t bound_ns = 0;
};

/// Properties of a GPU's clock. Times wrap after `valid_bits` bits.
struct GpuClockFacts {
  double ns_per_tick = 1;
  unsigned valid_bits = 64;
};

/// The GPU's times at the beginning and end of a scope, in ticks.
struct GpuTimes {
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
};

/// Whether the times of a scope are there.
enum class GpuAnswer : std::uint8_t {
  ready,    ///< the times are available
  pending,  ///< the GPU has not reached the end
  failed,   ///< the times will never be available
};

/// The timers of one API. A timer holds the two times of one scope. Timers are numbered from 0 to
/// GpuOptions::most_pending - 1. No call waits for the GPU or throws. The context makes one call at a time.
class KYMO_API GpuDriver {
 public:
  GpuDriver() = default;
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;
  virtual ~GpuDriver();

  [[nodiscard]] virtual GpuClockFacts clock() const noexcept = 0;
  /// Reads both clocks; none if that is impossible at present. Called at most ten times a second.
  [[nodiscard]] virtual std::optional<GpuClockPair> read_clock() noexcept = 0;
  /// Name of the track for a place (a stream, a command buffer; null if the API has no places).
  [[nodiscard]] virtual std::string track_name(void* place) = 0;
  /// Whether the GPU runs work handed to this place exactly once. False if the work becomes part of a graph that runs
  /// later.
  [[nodiscard]] virtual bool is_timed(void* place) noexcept;

  /// Makes the GPU record its time at this point of the place. False if it cannot.
  virtual bool write_begin(std::uint32_t timer, void* place) noexcept = 0;
  virtual bool write_end(std::uint32_t timer, void* place) noexcept = 0;
  /// Whether a scope's times are available. Does not flush. Called in the order in which the scopes of a place ended.
  [[nodiscard]] virtual GpuAnswer ask(std::uint32_t timer, GpuTimes& times) noexcept = 0;
  /// Makes a timer reusable. `has_answered` is false for an abandoned timer that the GPU may still write to. Returns
  /// false if that is impossible at present; the context then tries again.
  virtual bool recycle(std::uint32_t timer, bool has_answered) noexcept = 0;
  /// Sets the place whose commands may recycle timers until the next call; null: none. For APIs that need it.
  virtual void recycle_in(void* place) noexcept;
  /// True if the context, device or driver is gone and will give no more answers.
  [[nodiscard]] virtual bool is_lost() noexcept = 0;
};

/// A driver, or the reason why there is none.
struct GpuDriverOrTrouble {
  std::unique_ptr<GpuDriver> driver;
  std::string trouble;
};

}  // namespace kymo
