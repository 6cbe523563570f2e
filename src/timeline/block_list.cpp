// The individual blocks and summaries of a timeline.
#include "timeline/block_list.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "capture/format/bytes.hpp"
#include "capture/summary/summary.hpp"
#include "timeline/detail_parts.hpp"
#include "timeline/timeline_implementation.hpp"

namespace kymo::timeline {

namespace {

CaptureBlocks list_capture(const Source& source) {
  CaptureBlocks list;
  list.blocks.reserve(source.block_count());
  for (std::size_t block = 0; block < source.block_count(); ++block) {
    const std::int64_t start_ns = source.start_ns(block);
    list.blocks.push_back({start_ns, std::max(source.end_ns(block), start_ns)});
  }
  // A summary follows the last block it covers, and begins at the end of the previous summary of its level.
  std::map<std::uint16_t, std::size_t> ends;
  std::size_t events = 0;
  const std::vector<BlockInfo>& blocks = source.reader().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BlockInfo& block = blocks[i];
    events += block.kind == BlockKind::events ? 1 : 0;
    if (block.kind != BlockKind::summary || block.level >= capture::total_level) {
      continue;
    }
    std::size_t& end = ends[block.level];
    if (end < events) {
      list.summaries.push_back({capture::add_times(block.start_ns, source.shift().offset_ns),
                                capture::add_times(block.end_ns, source.shift().offset_ns), end, events,
                                static_cast<std::uint32_t>(i), static_cast<std::uint8_t>(block.level)});
    }
    end = events;
  }
  return list;
}

/// Converts the times of a summary's rows to those of the timeline, and its ids by `to_track(row, id)` and
/// `to_name(row, id)`.
template <typename ToTrack, typename ToName>
void translate_rows(const Source& source, std::array<DetailBins, Detail::levels>& all, ToTrack&& to_track,
                    ToName&& to_name) {
  for (DetailBins& bins : all) {
    for (DetailRow& row : bins.rows) {
      for (std::uint32_t i = 0; i < row.bin_count; ++i) {
        std::uint32_t& name = bins.bins[row.first_bin + i].name;
        name = to_name(row, name);
      }
      row.track = to_track(row, row.track);
      row.start_ns = capture::add_times(row.start_ns, source.shift().offset_ns);
    }
  }
  sort_rows(all);
}

void put_scopes(const Source& source, const capture::Summary& summary, Detail& out) {
  put_rows(summary.coverage, out.bins);
  translate_rows(
      source, out.bins, [&source](const DetailRow&, TrackId own) { return source.find(own); },
      [&source](const DetailRow& row, std::uint32_t own) {
        return row.named ? source.find(NameId{own}).value() : source.find(SiteId{own}).value();
      });
}

void put_states(const Source& source, const capture::Summary& summary, Detail& out) {
  put_rows(summary.states, out.state_bins);
  const auto find = [&source](std::uint32_t own) { return source.find(ThreadId{own}).value(); };
  // CPUs have the same numbers everywhere.
  translate_rows(
      source, out.state_bins,
      [&find](const DetailRow& row, TrackId own) { return row.named ? own : TrackId{find(own.value())}; },
      [&find](const DetailRow& row, std::uint32_t own) { return row.named ? find(own) : own; });
}

void put_frames(const Source& source, const capture::Summary& summary, Detail& out) {
  for (const capture::FrameStreamSummary& stream : summary.frame_streams) {
    if (stream.empty()) {
      continue;
    }
    DetailFrames& frames = out.frames.emplace_back();
    frames.stream = source.find(stream.id);
    frames.last_mark_ns = capture::add_times(stream.last_mark_ns, source.shift().offset_ns);
    frames.first_mark_ns = std::min(out.start_ns, frames.last_mark_ns);
    if (stream.frame_times.count() != 0) {
      frames.groups.push_back({frames.first_mark_ns, frames.last_mark_ns, frames.first_mark_ns,
                               stream.frame_times.max_ns(), stream.frame_times.count()});
    }
  }
}

void put_series(const Source& source, const capture::Summary& summary, Detail& out) {
  for (const capture::MetricSummary& metric : summary.metrics) {
    if (!metric.empty()) {
      DetailSeries& series = out.series.emplace_back();
      series.metric = source.find(metric.id);
      series.groups.push_back({capture::add_times(metric.first_ns, source.shift().offset_ns),
                               capture::add_times(metric.last_ns, source.shift().offset_ns), metric.min, metric.max,
                               metric.last, false});
    }
  }
}

}  // namespace

std::vector<CaptureBlocks> list_blocks(const Timeline& timeline) {
  std::vector<CaptureBlocks> lists;
  for (const auto& source : timeline.implementation().sources_) {
    lists.push_back(list_capture(*source));
  }
  return lists;
}

bool read_block(const Timeline& timeline, std::size_t capture, std::size_t block, BatchParts parts, EventBatch& batch) {
  const auto& sources = timeline.implementation().sources_;
  return capture < sources.size() && block < sources[capture]->block_count() &&
         sources[capture]->read(block, parts, batch);
}

bool read_summary(const Timeline& timeline, std::size_t capture, const SummaryPlace& place, Detail& out) {
  const auto& sources = timeline.implementation().sources_;
  if (capture >= sources.size() || place.place >= sources[capture]->reader().blocks().size()) {
    return false;
  }
  const Source& source = *sources[capture];
  BlockPayload payload;
  if (!source.reader().read_payload(source.reader().blocks()[place.place], payload)) {
    return false;
  }
  try {
    const capture::Summary summary = capture::decode_summary({payload.data(), payload.size()}, {false, true, true});
    out = {};
    out.start_ns = place.start_ns;
    out.end_ns = std::max(place.end_ns, place.start_ns);
    out.scopes = summary.scope_events / 2;
    put_scopes(source, summary, out);
    put_states(source, summary, out);
    put_frames(source, summary, out);
    put_series(source, summary, out);
    count_bytes(out);
  } catch (const capture::DecodeError&) {
    return false;
  }
  return true;
}

}  // namespace kymo::timeline
