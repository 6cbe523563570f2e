// When an event that costs the program something is on: always while it is rare, else in windows.
#pragma once

#include <cstdint>
#include <functional>

namespace kymo::threads {

/// Decides from how often the event came. One thread.
class EventWindows {
 public:
  /// More than `most_hz` times a second the event is on for a sixteenth of the time, or less while that gives
  /// `enough_hz` in a second; below half of it always again.
  EventWindows(double most_hz, double enough_hz) : most_hz_(most_hz), enough_hz_(enough_hz) {}

  /// The event is on from now on.
  void start(std::int64_t now_ns);
  /// It came once.
  void count() { ++seen_; }
  /// Looks whether it has to be switched. Call often; not before `until_ns()` there is anything to do.
  void look(std::int64_t now_ns, const std::function<void(bool is_on)>& switch_event);

  [[nodiscard]] bool is_always() const { return is_always_; }
  [[nodiscard]] std::int64_t until_ns() const { return until_ns_; }

 private:
  double most_hz_;
  double enough_hz_;
  bool is_on_ = true;
  bool is_always_ = true;
  std::int64_t since_ns_ = 0;  // since when `seen_` counts
  std::int64_t until_ns_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace kymo::threads
