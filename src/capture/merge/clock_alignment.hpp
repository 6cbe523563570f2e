// Aligns times of several boots. CLOCK_MONOTONIC counts from the boot, so captures of one boot agree exactly. Others
// are aligned by readings of the wall clock or by shared sync points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

namespace kymo::capture {

/// Transformation of one capture's times to the common axis.
struct ClockShift {
  Alignment alignment = Alignment::same_boot;
  std::int64_t offset_ns = 0;  ///< to add
  std::int64_t bound_ns = 0;   ///< bound of the result's error; -1: unknown
};

/// A capture's information about its clock.
struct ClockReadings {
  std::string boot_id;  ///< of the machine whose CLOCK_MONOTONIC its times use; empty: unknown
  /// Offset of the process's time namespace from the machine's CLOCK_MONOTONIC; none: unknown.
  std::optional<std::int64_t> namespace_offset_ns = 0;
  bool has_events = false;
  std::int64_t start_ns = 0;  ///< time of the first event
  std::vector<ClockAnchor> anchors;
  std::vector<SyncPoint> sync_points;  ///< only if requested
};

/// The boot whose CLOCK_MONOTONIC a capture's times use; empty if unknown.
[[nodiscard]] std::string boot_of(const CaptureReader& capture);

/// Reads the clock readings near the capture's ends; with sync points, reads all of it.
[[nodiscard]] ClockReadings read_clock(const CaptureReader& capture, bool with_sync_points);

/// The shift of `other` onto the axis of `reference`.
///
/// - Same boot: times agree, except for the offsets of time namespaces.
/// - By wall clock: t' = t + (wall clock - monotonic of other) - (wall clock - monotonic of reference). The bound is
///   the sum of both readings' bounds and of each capture's disagreement among its readings (the wall clock was
///   stepped).
/// - By sync points: the lowest shared one coincides. The bound is the distance that remains between the other shared
///   ones, -1 if there is only one.
[[nodiscard]] ClockShift align_clocks(const ClockReadings& reference, const ClockReadings& other, bool by_sync_points);

/// Aligns captures in the order in which they are opened: the first one's axis is common, and captures of one boot
/// share a shift.
class ClockAxis {
 public:
  explicit ClockAxis(bool by_sync_points) : by_sync_points_(by_sync_points) {}

  /// The shift of the next capture. `first` is the first capture of all; it is read only when another boot appears.
  [[nodiscard]] ClockShift place(const CaptureReader& first, const CaptureReader& capture);

 private:
  bool by_sync_points_;
  std::optional<ClockReadings> reference_;
  std::vector<std::pair<std::string, ClockShift>> boots_;  // boot and namespace, shift
};

/// The keys under which a merge notes the shift of a process's times.
inline constexpr const char* aligned_by_key = "clock.aligned_by";
inline constexpr const char* offset_key = "clock.offset_ns";
inline constexpr const char* bound_key = "clock.bound_ns";

/// The key under which a merge notes when the capture of a process ended, on the merge's axis.
inline constexpr const char* end_key = "clock.end_ns";

/// Key of the fact with a time namespace's offset to CLOCK_MONOTONIC in nanoseconds. Absent if there is no offset.
inline constexpr const char* namespace_offset_key = "clock.namespace_offset_ns";

/// The alignment with that name; same_boot for other names.
[[nodiscard]] Alignment alignment_of(const std::string& name);

}  // namespace kymo::capture
