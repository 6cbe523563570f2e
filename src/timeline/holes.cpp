#include "timeline/holes.hpp"

#include <algorithm>

#include "timeline/source.hpp"

namespace kymo::timeline {
namespace {

/// The first event of a batch that began in it: its declared start may be that of a span that began long before.
std::int64_t first_event_ns(const EventBatch& batch) {
  std::int64_t first_ns = batch.end_ns;
  for (const ScopeRun& run : batch.runs) {
    first_ns = run.events.empty() ? first_ns : std::min(first_ns, run.events.front().time_ns);
  }
  for (const SampleRun& run : batch.samples) {
    first_ns = run.times_ns.empty() ? first_ns : std::min(first_ns, run.times_ns.front());
  }
  for (const FrameMark& mark : batch.frame_marks) {
    first_ns = std::min(first_ns, mark.time_ns);
  }
  return first_ns;
}

}  // namespace

std::vector<TimeRange> holes_of(const Source& source) {
  std::vector<TimeRange> holes;
  std::size_t block = 0;
  std::int64_t known_until_ns = 0;
  std::uint32_t next_number = 0;
  bool follows_gap = false;
  EventBatch batch;
  for (const BlockInfo& info : source.reader().blocks()) {
    follows_gap = follows_gap || info.number != next_number;
    next_number = info.number + 1;
    if (info.kind != BlockKind::events) {
      continue;
    }
    follows_gap = follows_gap || info.level != 0;
    if (block != 0 && follows_gap && source.read(block, BatchParts::everything, batch)) {
      if (const std::int64_t start_ns = first_event_ns(batch); start_ns > known_until_ns) {
        holes.push_back({known_until_ns, start_ns});
      }
    }
    known_until_ns = block == 0 ? source.end_ns(block) : std::max(known_until_ns, source.end_ns(block));
    follows_gap = false;
    ++block;
  }
  return holes;
}

}  // namespace kymo::timeline
