#include "capture/merge/clock_alignment.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text/number_text.hpp"
#include "base/time_math.hpp"
#include "capture/merge/id_translation.hpp"

namespace kymo::capture {

namespace {

std::int64_t subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// |a - b|, at most the greatest int64.
std::int64_t distance(std::int64_t a, std::int64_t b) {
  return base::length_between(std::min(a, b), std::max(a, b));
}

/// Wall clock minus CLOCK_MONOTONIC, and the bound of the error.
struct WallClock {
  std::int64_t offset_ns = 0;
  std::int64_t bound_ns = 0;
};

std::optional<WallClock> wall_clock_of(const ClockReadings& readings) {
  std::optional<WallClock> best;
  for (const ClockAnchor& anchor : readings.anchors) {
    const std::int64_t bound_ns = std::max<std::int64_t>(anchor.bound_ns, 0);
    if (!best || bound_ns < best->bound_ns) {
      best = WallClock{subtract(anchor.realtime_ns, anchor.monotonic_ns), bound_ns};
    }
  }
  if (best) {
    std::int64_t spread_ns = 0;
    for (const ClockAnchor& anchor : readings.anchors) {
      spread_ns = std::max(spread_ns, distance(subtract(anchor.realtime_ns, anchor.monotonic_ns), best->offset_ns));
    }
    best->bound_ns = base::add_length(best->bound_ns, spread_ns);
  }
  return best;
}

/// When the first of the points with each number was.
std::map<std::uint64_t, std::int64_t> first_times(const std::vector<SyncPoint>& points) {
  std::map<std::uint64_t, std::int64_t> times;
  for (const SyncPoint& point : points) {
    const auto [place, is_new] = times.emplace(point.number, point.time_ns);
    place->second = std::min(place->second, point.time_ns);
  }
  return times;
}

std::optional<ClockShift> shift_by_sync_points(const ClockReadings& reference, const ClockReadings& other) {
  std::map<std::uint64_t, std::int64_t> times = first_times(reference.sync_points);
  std::map<std::uint64_t, std::int64_t> others = first_times(other.sync_points);
  std::erase_if(others, [&times](const auto& point) { return times.count(point.first) == 0; });
  if (others.empty()) {
    return std::nullopt;
  }
  ClockShift shift{Alignment::sync_point, subtract(times[others.begin()->first], others.begin()->second), 0};
  for (const auto& [number, time_ns] : others) {
    shift.bound_ns = std::max(shift.bound_ns, distance(times[number], add_times(time_ns, shift.offset_ns)));
  }
  if (others.size() == 1) {
    shift.bound_ns = -1;
  }
  return shift;
}

/// The process whose clock is the time axis of a capture.
const ProcessDeclaration* axis_process(const Declarations& declared) {
  // In a merge, shifted processes are on another's axis.
  std::set<ProcessId> shifted;
  for (const InfoDeclaration& info : declared.infos) {
    if (info.key == aligned_by_key) {
      shifted.insert(info.process);
    }
  }
  for (const ProcessDeclaration& process : declared.processes) {
    if (shifted.count(process.id) == 0) {
      return &process;
    }
  }
  return nullptr;
}

/// The text of the fact; empty if there is none.
std::string namespace_offset_of(const CaptureReader& capture) {
  const ProcessDeclaration* const process = axis_process(capture.declarations());
  for (const InfoDeclaration& info : capture.declarations().infos) {
    if (process != nullptr && info.process == process->id && info.key == namespace_offset_key) {
      return info.value;
    }
  }
  return {};
}

std::optional<std::int64_t> parse_offset(const std::string& text) {
  return text.empty() ? 0 : base::parse_integer<std::int64_t>(text);
}

/// Readings are taken every few seconds, and the first batch has one.
constexpr std::size_t blocks_looked_at = 64;

}  // namespace

std::string boot_of(const CaptureReader& capture) {
  const ProcessDeclaration* const process = axis_process(capture.declarations());
  return process != nullptr ? process->boot_id : std::string();
}

ClockReadings read_clock(const CaptureReader& capture, bool with_sync_points) {
  ClockReadings readings;
  readings.boot_id = boot_of(capture);
  readings.namespace_offset_ns = parse_offset(namespace_offset_of(capture));
  std::vector<BlockInfo> events;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::events) {
      readings.start_ns = readings.has_events ? std::min(readings.start_ns, block.start_ns) : block.start_ns;
      readings.has_events = true;
      events.push_back(block);
    }
  }
  EventBatch batch;
  const auto take = [&](const BlockInfo& block) {
    if (!capture.read(block, batch, BatchParts::others)) {
      return false;
    }
    readings.anchors.insert(readings.anchors.end(), batch.clock_anchors.begin(), batch.clock_anchors.end());
    if (with_sync_points) {
      readings.sync_points.insert(readings.sync_points.end(), batch.sync_points.begin(), batch.sync_points.end());
    }
    return !batch.clock_anchors.empty();
  };
  if (with_sync_points) {
    for (const BlockInfo& block : events) {
      take(block);
    }
    return readings;
  }
  const std::size_t looked_at = std::min(events.size(), blocks_looked_at);
  std::size_t front = 0;
  while (front < looked_at && !take(events[front])) {
    ++front;
  }
  for (std::size_t back = events.size(); back > front + 1 && events.size() - back < looked_at; --back) {
    if (take(events[back - 1])) {
      break;
    }
  }
  return readings;
}

ClockShift align_clocks(const ClockReadings& reference, const ClockReadings& other, bool by_sync_points) {
  if (!reference.boot_id.empty() && reference.boot_id == other.boot_id && reference.namespace_offset_ns &&
      other.namespace_offset_ns) {
    return {Alignment::same_boot, subtract(*reference.namespace_offset_ns, *other.namespace_offset_ns), 0};
  }
  if (by_sync_points) {
    if (const auto shift = shift_by_sync_points(reference, other)) {
      return *shift;
    }
  }
  const auto reference_clock = wall_clock_of(reference);
  const auto other_clock = wall_clock_of(other);
  if (reference_clock && other_clock) {
    return {Alignment::wall_clock, subtract(other_clock->offset_ns, reference_clock->offset_ns),
            base::add_length(reference_clock->bound_ns, other_clock->bound_ns)};
  }
  const bool can_begin_together = reference.has_events && other.has_events;
  return {Alignment::none, can_begin_together ? subtract(reference.start_ns, other.start_ns) : 0, -1};
}

ClockShift ClockAxis::place(const CaptureReader& first, const CaptureReader& capture) {
  const std::string boot_id = boot_of(capture);
  const std::string offset = namespace_offset_of(capture);
  const bool is_known = !boot_id.empty() && parse_offset(offset);
  const std::string clock = boot_id + ' ' + offset;
  if (boots_.empty()) {
    boots_.emplace_back(clock, ClockShift{});
    return {};
  }
  for (const auto& [known, shift] : boots_) {
    if (is_known && known == clock) {
      return shift;
    }
  }
  if (!reference_) {
    reference_ = read_clock(first, by_sync_points_);
  }
  const ClockShift shift = align_clocks(*reference_, read_clock(capture, by_sync_points_), by_sync_points_);
  boots_.emplace_back(clock, shift);
  return shift;
}

Alignment alignment_of(const std::string& name) {
  for (const Alignment alignment : {Alignment::wall_clock, Alignment::sync_point, Alignment::none}) {
    if (name == name_of(alignment)) {
      return alignment;
    }
  }
  return Alignment::same_boot;
}

}  // namespace kymo::capture
