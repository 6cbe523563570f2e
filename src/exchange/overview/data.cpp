#include "exchange/overview/data.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "capture/summary/totals.hpp"
#include "timeline/display_order.hpp"
#include "timeline/metric_families.hpp"
#include "timeline/source.hpp"

namespace kymo::exchange {
namespace {

bool is_whole(const Timeline& timeline, TimeRange range) {
  const TimeRange all = timeline.range();
  return range.start_ns <= all.start_ns && range.end_ns > all.end_ns;
}

/// Adds up the time covered by a capture's scopes, from its summaries and from the blocks that no summary covers.
void read_coverage(const timeline::Source& source, TimeRange range, bool uses_summaries,
                   capture::SummaryTotals& totals) {
  if (uses_summaries) {
    capture::add_summaries(source.reader(), {}, totals);
  }
  EventBatch batch;
  for (std::size_t block = 0; block < source.block_count(); ++block) {
    const std::uint32_t number = source.block_number(block);
    const bool is_within = source.start_ns(block) < range.end_ns && source.end_ns(block) >= range.start_ns;
    if (is_within && !totals.covers(number) && source.read_own(block, BatchParts::everything, batch)) {
      totals.add(batch, number);
    }
  }
}

class Gathering {
 public:
  Gathering(const Timeline& timeline, const OverviewOptions& options, std::size_t bins)
      : timeline_(timeline), options_(options), bins_(bins) {
    const TimeRange all = timeline.range();
    data_.range = {std::max(options.range.start_ns, all.start_ns), std::min(options.range.end_ns, all.end_ns)};
    data_.range.end_ns = std::max(data_.range.end_ns, data_.range.start_ns);
  }

  OverviewData gather() {
    gather_tracks();
    gather_frames();
    gather_metrics();
    return std::move(data_);
  }

 private:
  [[nodiscard]] double length_ns() const {
    return std::max(1.0, static_cast<double>(data_.range.end_ns) - static_cast<double>(data_.range.start_ns));
  }

  [[nodiscard]] std::size_t bin_of(std::int64_t time_ns) const {
    const double since = static_cast<double>(time_ns) - static_cast<double>(data_.range.start_ns);
    const double bin =
        std::clamp(since / length_ns() * static_cast<double>(bins_), 0.0, static_cast<double>(bins_ - 1));
    return static_cast<std::size_t>(bin);
  }

  void gather_tracks() {
    std::map<TrackId, OverviewTrack> tracks;
    for (const auto& source : timeline::sources_of(timeline_)) {
      capture::SummaryTotals totals;
      read_coverage(*source, options_.range, is_whole(timeline_, options_.range), totals);
      const capture::Coverage& coverage = totals.finish().coverage;
      for (const capture::CoverageRow& row : coverage.rows()) {
        if (row.depth < overview_depths) {
          add_row(*source, row, coverage.shift(), tracks[source->find(row.track)]);
        }
      }
    }
    std::vector<std::pair<TrackId, OverviewTrack>> found;
    for (auto& [id, track] : tracks) {
      const TrackDeclaration& declared = timeline_.track(id);
      track.name = !declared.name.empty() ? declared.name : "thread " + std::to_string(declared.os_thread_id);
      if (!track.lanes.empty()) {
        found.emplace_back(id, std::move(track));
      }
    }
    if (found.size() > options_.most_tracks) {
      std::stable_sort(found.begin(), found.end(),
                       [](const auto& a, const auto& b) { return a.second.covered_ns > b.second.covered_ns; });
      data_.tracks_left_out = found.size() - options_.most_tracks;
      found.resize(options_.most_tracks);
    }
    const auto rank = [this](TrackId id) {
      return timeline::track_rank(timeline_.track(id), timeline_.declarations().processes);
    };
    std::sort(found.begin(), found.end(),
              [&rank](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
    for (auto& [id, track] : found) {
      data_.tracks.push_back(std::move(track));
    }
  }

  void add_row(const timeline::Source& source, const capture::CoverageRow& row, unsigned shift,
               OverviewTrack& track) const {
    const double bin_ns = std::ldexp(1.0, static_cast<int>(shift));
    for (std::size_t i = 0; i < row.bins.size(); ++i) {
      const capture::CoverageBin& bin = row.bins[i];
      if (bin.covered_ns == 0) {
        continue;
      }
      const double start = (static_cast<double>(row.first_bin) + static_cast<double>(i)) * bin_ns +
                           static_cast<double>(source.shift().offset_ns);
      if (start + bin_ns <= static_cast<double>(data_.range.start_ns) ||
          start >= static_cast<double>(data_.range.end_ns) || std::fabs(start) > 9e18) {
        continue;
      }
      if (track.lanes.size() <= row.depth) {
        track.lanes.resize(row.depth + std::size_t{1});
      }
      OverviewBlock block;
      block.start_ns = std::max(static_cast<std::int64_t>(start), data_.range.start_ns);
      block.end_ns = static_cast<std::int64_t>(std::min(start + bin_ns, static_cast<double>(data_.range.end_ns)));
      block.share = std::min(1.0, static_cast<double>(bin.covered_ns) / bin_ns);
      const base::SiteOrName what = row.what(bin);
      block.name = base::is_name(what) ? timeline_.name(source.find(base::name_of(what)))
                                       : std::string_view(timeline_.site(source.find(base::site_of(what))).name);
      track.lanes[row.depth].push_back(block);
      track.covered_ns += row.depth == 0 ? static_cast<double>(bin.covered_ns) : 0;
    }
  }

  void gather_frames() {
    for (const FrameStreamDeclaration& stream : timeline_.declarations().frame_streams) {
      OverviewRow row;
      row.name = stream.name.empty() ? "frames" : stream.name;
      row.unit = "ns";
      row.bins.resize(bins_);
      for (const Frame& frame : timeline_.frames(stream.id, data_.range)) {
        row.bins[bin_of(frame.start_ns)].add(static_cast<double>(frame.duration_ns));
        row.all.add(static_cast<double>(frame.duration_ns));
      }
      if (row.all.count != 0 && data_.frames.size() < overview_depths) {
        data_.frames.push_back(std::move(row));
      }
    }
  }

  /// Adds the rows of each family up in that of its first metric.
  void join_families(std::map<MetricId, OverviewRow>& rows) const {
    for (const timeline::MetricFamily& family : timeline::metric_families(timeline_.declarations().metrics)) {
      OverviewRow joined;
      joined.name = timeline::title_of(family);
      joined.metrics = family.members.size();
      joined.bins.resize(bins_);
      for (const MetricId id : family.members) {
        const auto member = rows.find(id);
        if (member == rows.end()) {
          continue;
        }
        joined.changes = joined.changes || member->second.changes;
        joined.all.add(member->second.all);
        for (std::size_t bin = 0; bin < bins_; ++bin) {
          joined.bins[bin].add(member->second.bins[bin]);
        }
        rows.erase(member);
      }
      rows.emplace(family.members.front(), std::move(joined));
    }
  }

  void gather_metrics() {
    std::map<MetricId, OverviewRow> rows;
    BatchCursor cursor(timeline_, options_.range, BatchParts::samples);
    for (EventBatch batch; cursor.next(batch);) {
      for (const SampleRun& run : batch.samples) {
        OverviewRow& row = rows[run.metric];
        row.bins.resize(bins_);
        for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
          const std::int64_t time_ns = run.times_ns[i];
          if (time_ns >= data_.range.start_ns && time_ns <= data_.range.end_ns) {
            row.bins[bin_of(time_ns)].add(run.values[i]);
            row.all.add(run.values[i]);
          }
        }
      }
    }
    for (auto& [id, row] : rows) {
      row.changes = row.all.least < row.all.greatest;
    }
    join_families(rows);
    std::vector<std::pair<const MetricDeclaration*, OverviewRow>> found;
    for (auto& [id, row] : rows) {
      const MetricDeclaration& declared = timeline_.metric(id);
      if (row.all.count == 0) {
        continue;
      }
      if (timeline::folds_if_constant(declared) && !row.changes) {
        data_.constant_metrics += row.metrics;
      } else {
        found.emplace_back(&declared, std::move(row));
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return timeline::subject_of(*a.first) < timeline::subject_of(*b.first);
    });
    const std::size_t shown = std::min(found.size(), options_.most_metrics);
    data_.metrics_left_out = found.size() - shown;
    found.resize(shown);
    for (auto& [declared, row] : found) {
      if (row.metrics == 1) {
        row.name = declared->name;
        for (const auto& [key, value] : declared->labels) {
          row.name += " " + key + "=" + value;
        }
      }
      row.unit = declared->unit;
      data_.metrics.push_back(std::move(row));
    }
  }

  const Timeline& timeline_;
  const OverviewOptions& options_;
  std::size_t bins_;
  OverviewData data_;
};

}  // namespace

OverviewData gather_overview(const Timeline& timeline, const OverviewOptions& options, std::size_t bins) {
  return Gathering(timeline, options, bins).gather();
}

}  // namespace kymo::exchange
