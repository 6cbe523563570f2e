// The scopes of one GPU context, from opening until their times are known or given up.
//
// - An entry is taken when a scope opens and returned when the GPU has answered. An entry's number is that of its
//   timer.
// - Closed scopes wait in lanes, one per stream or command buffer. The GPU reaches their ends in order, so only the
//   first of a lane is queried.
// - Inner scopes wait for the outer one, so that all are handed on together and stored in one block. A reader that
//   draws a block then knows the nesting.
// - If the GPU may still write to an entry's timer, the entry rests until the driver can reuse it.
// - Nothing grows beyond GpuOptions::most_pending.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/gpu_driver.hpp>
#include <kymo/gpu_scope.hpp>

#include "gpu/gpu_clock.hpp"

namespace kymo::gpu {

class Scopes {
 public:
  /// `forks` identifies the process that created it.
  Scopes(GpuDriverOrTrouble driver, const GpuOptions& options, unsigned forks = 0);
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;
  ~Scopes();

  /// The timer of a scope that begins now. no_timer if it is unresolved already, not_timed if it becomes part of a
  /// graph and is a scope on its thread only.
  [[nodiscard]] std::uint32_t open(std::string_view name, void* place, std::uint64_t correlation);
  void add_arguments(const GpuTiming& timing, const Argument* arguments, std::size_t count);
  void close(const GpuTiming& timing);

  /// Timers may be recycled in `recycling_place`, unless it is null.
  void collect(void* recycling_place);
  void lose(std::string_view reason);
  /// Ends the context: pending scopes become unresolved, and the driver is released.
  void end();

  [[nodiscard]] bool is_working() const;
  [[nodiscard]] GpuScopeCounts counts() const;
  [[nodiscard]] unsigned forks() const { return forks_; }

  static constexpr std::uint32_t no_timer = ~std::uint32_t{0};
  static constexpr std::uint32_t not_timed = no_timer - 1;

 private:
  /// A stored argument: Entry::text holds its name and the bytes of a string.
  struct KeptArgument {
    std::uint32_t name_at = 0;
    std::uint32_t name_size = 0;
    ArgumentType type = ArgumentType::int64;
    std::uint64_t bits = 0;  ///< for a string: the offset of its bytes
    std::uint32_t text_size = 0;
  };
  struct Entry {
    std::uint64_t correlation = 0;  ///< 0: free
    void* place = nullptr;
    std::int64_t issued_ns = 0;
    std::int64_t closed_ns = 0;
    bool is_outermost = false;    ///< nothing else of its lane was open when it closed
    std::uint32_t name_size = 0;  ///< the text begins with the name
    std::string text;             ///< its memory is reused
    std::vector<KeptArgument> arguments;
  };
  struct Lane {
    std::string track;
    std::deque<std::uint32_t> closed;  ///< in order of ending
    std::uint32_t open = 0;
  };

  [[nodiscard]] bool is_lost() const { return !trouble_.empty() || driver_ == nullptr; }
  [[nodiscard]] Entry* entry_of(const GpuTiming& timing);
  [[nodiscard]] std::string track_of(void* place);
  Lane& lane_of(void* place);
  void collect_lane(Lane& lane, std::int64_t now_ns);
  [[nodiscard]] std::size_t group_of(const Lane& lane) const;
  [[nodiscard]] bool has_come(std::uint32_t timer, std::int64_t now_ns);
  [[nodiscard]] bool is_crowded() const;
  void compare_clocks(std::int64_t now_ns);
  void collect_now(std::int64_t now_ns);
  void recycle_resting();
  /// Returns false if the scope still waits for the GPU.
  bool hand_on(std::uint32_t timer, const Lane& lane, std::int64_t now_ns);
  bool put(const Entry& entry, const Lane& lane, const GpuTimes& times, std::int64_t now_ns);
  void give_up(std::uint32_t timer, const std::string& track, std::string_view reason, bool has_answered);
  void release(std::uint32_t timer, bool has_answered);
  void mark_unresolved(const Entry& entry, const std::string& track, std::string_view reason);
  void lose_all(std::string_view reason);
  void emit(const Entry& entry, const std::string& track, std::string_view name, std::int64_t start_ns,
            std::int64_t duration_ns, const Argument& last);

  unsigned forks_;
  mutable std::mutex mutex_;
  GpuOptions options_;
  std::unique_ptr<GpuDriver> driver_;
  std::string trouble_;  ///< why timing does not work
  GpuClock clock_;
  std::int64_t next_clock_ns_ = 0;
  std::int64_t last_collect_ns_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<std::pair<std::uint32_t, bool>> resting_;  ///< timer, and whether it has answered
  std::unordered_map<void*, Lane> lanes_;
  std::size_t closed_ = 0;  ///< in all lanes
  GpuScopeCounts counts_;
  bool has_said_ = false;
};

}  // namespace kymo::gpu
