// Times of several boots on one axis: CLOCK_MONOTONIC counts from the boot, so captures of one boot agree exactly;
// others are brought together by readings of the wall clock or by sync points that both went through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

namespace kymo::capture {

/// How to bring times of one capture onto the axis.
struct ClockShift {
  Alignment alignment = Alignment::same_boot;
  std::int64_t offset_ns = 0;  ///< to add
  std::int64_t bound_ns = 0;   ///< how far off the result may be; -1: not known
};

/// What a capture says about its clock.
struct ClockReadings {
  std::string boot_id;  ///< of the machine whose CLOCK_MONOTONIC its times are; empty: not known
  /// What the time namespace of its process adds to the machine's CLOCK_MONOTONIC; none: not known.
  std::optional<std::int64_t> namespace_offset_ns = 0;
  bool has_events = false;
  std::int64_t start_ns = 0;  ///< its first event
  std::vector<ClockAnchor> anchors;
  std::vector<SyncPoint> sync_points;  ///< only where they were asked for
};

/// The boot whose CLOCK_MONOTONIC a capture's times are; empty where it does not say.
[[nodiscard]] std::string boot_of(const CaptureReader& capture);

/// Reads the clock readings near the capture's ends, or with sync points all of it.
[[nodiscard]] ClockReadings read_clock(const CaptureReader& capture, bool with_sync_points);

/// What brings times of `other` onto the axis of `reference`. Of one boot they agree, but for what time namespaces add
/// to either. By wall clock, t' = t + (wall clock - monotonic of other)
/// - (wall clock - monotonic of reference); the bound is the sum of both readings' bounds and of how far either's
/// readings disagree among themselves (the wall clock was stepped). By sync points, the lowest shared one coincides,
/// and the bound is how far the other shared ones then lie apart, -1 where there is just the one.
[[nodiscard]] ClockShift align_clocks(const ClockReadings& reference, const ClockReadings& other, bool by_sync_points);

/// The axes of captures as they are opened: the first one's is everybody's, captures of one boot share one shift.
class ClockAxis {
 public:
  explicit ClockAxis(bool by_sync_points) : by_sync_points_(by_sync_points) {}

  /// The shift of the next capture. `first` is the first one of all, which is read only when another boot turns up.
  [[nodiscard]] ClockShift place(const CaptureReader& first, const CaptureReader& capture);

 private:
  bool by_sync_points_;
  bool has_reference_ = false;
  ClockReadings reference_;
  std::vector<std::pair<std::string, ClockShift>> boots_;  // boot and namespace, shift
};

/// The keys under which a merge notes how the times of a process were shifted.
inline constexpr const char* aligned_by_key = "clock.aligned_by";
inline constexpr const char* offset_key = "clock.offset_ns";
inline constexpr const char* bound_key = "clock.bound_ns";

/// The fact that says what a process's time namespace adds to CLOCK_MONOTONIC, in nanoseconds; where there is none,
/// nothing.
inline constexpr const char* namespace_offset_key = "clock.namespace_offset_ns";

/// The alignment of that name; same_boot for others.
[[nodiscard]] Alignment alignment_of(const std::string& name);

}  // namespace kymo::capture
