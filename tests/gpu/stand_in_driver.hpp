// An API that a test is in command of: a GPU that does what it is told, when it is told.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <kymo/gpu_scope.hpp>

#include "base/system/clock.hpp"

namespace kymo::test {

/// What a stand-in does, and what was asked of it. Outlives the driver.
struct StandIn {
  GpuClockFacts facts;
  std::uint64_t first_ticks = 0;
  std::int64_t clock_bound_ns = 0;
  bool has_clock = true;
  bool takes_begin = true;
  bool takes_end = true;
  bool is_lost = false;
  bool recycles = true;
  bool is_timed = true;
  std::set<void*> stuck;  ///< places that the GPU does not come to
  GpuAnswer answer = GpuAnswer::ready;

  std::uint64_t calls = 0;  ///< of time stamps and questions
  std::uint64_t clock_readings = 0;
  std::set<std::uint32_t> in_use;
  std::vector<std::uint32_t> reused_while_in_use;

  [[nodiscard]] std::uint64_t ticks_now() const {
    const auto ticks =
        first_ticks + static_cast<std::uint64_t>(static_cast<double>(base::monotonic_now_ns()) / facts.ns_per_tick);
    return facts.valid_bits >= 64 ? ticks : ticks & ((std::uint64_t{1} << facts.valid_bits) - 1);
  }
};

/// Notes the time at once, and tells it when its place is not stuck.
class StandInDriver final : public GpuDriver {
 public:
  explicit StandInDriver(StandIn& stand_in) : stand_in_(stand_in) {}

  [[nodiscard]] GpuClockFacts clock() const noexcept override { return stand_in_.facts; }
  [[nodiscard]] std::optional<GpuClockPair> read_clock() noexcept override {
    ++stand_in_.clock_readings;
    if (!stand_in_.has_clock) {
      return std::nullopt;
    }
    const std::int64_t before = base::monotonic_now_ns();
    const std::uint64_t ticks = stand_in_.ticks_now();
    const std::int64_t after = base::monotonic_now_ns();
    return GpuClockPair{ticks, (before + after) / 2, (after - before) / 2 + 2 + stand_in_.clock_bound_ns};
  }
  [[nodiscard]] std::string track_name(void* place) override {
    return place == nullptr ? "stand-in" : "stand-in " + std::to_string(reinterpret_cast<std::uintptr_t>(place));
  }
  [[nodiscard]] bool is_timed(void* /*place*/) noexcept override { return stand_in_.is_timed; }
  bool write_begin(std::uint32_t timer, void* place) noexcept override {
    ++stand_in_.calls;
    if (stand_in_.takes_begin) {
      if (!stand_in_.in_use.insert(timer).second) {
        stand_in_.reused_while_in_use.push_back(timer);
      }
      timers_[timer] = {place, {stand_in_.ticks_now(), 0}};
    }
    return stand_in_.takes_begin;
  }
  bool write_end(std::uint32_t timer, void* /*place*/) noexcept override {
    ++stand_in_.calls;
    timers_[timer].times.end_ticks = stand_in_.ticks_now();
    return stand_in_.takes_end;
  }
  [[nodiscard]] GpuAnswer ask(std::uint32_t timer, GpuTimes& times) noexcept override {
    ++stand_in_.calls;
    times = timers_[timer].times;
    return stand_in_.stuck.count(timers_[timer].place) != 0 ? GpuAnswer::pending : stand_in_.answer;
  }
  bool recycle(std::uint32_t timer, bool /*has_answered*/) noexcept override {
    if (stand_in_.recycles) {
      stand_in_.in_use.erase(timer);
    }
    return stand_in_.recycles;
  }
  [[nodiscard]] bool is_lost() noexcept override { return stand_in_.is_lost; }

 private:
  struct Timer {
    void* place = nullptr;
    GpuTimes times;
  };

  StandIn& stand_in_;
  std::map<std::uint32_t, Timer> timers_;
};

}  // namespace kymo::test
