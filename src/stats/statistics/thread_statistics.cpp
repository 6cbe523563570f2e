// Scopes per thread and site.
#include "stats/statistics/thread_statistics.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "capture/summary/scope_matcher.hpp"
#include "capture/summary/summary.hpp"
#include "timeline/open_tracks.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

namespace {

/// The tracks of one capture, by its own ids.
class TracksOfSource {
 public:
  TracksOfSource(const Timeline& timeline, const timeline::Source& source, const Selection& selection)
      : timeline_(timeline), source_(source), selection_(selection) {}

  void add(const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      Track& track = tracks_[run.track];
      capture::match(
          run, track.stack, [&](const capture::ScopeSpan& span) { track.sites[span.site].add(span); }, batch.start_ns);
    }
  }

  void put(std::vector<ThreadSiteStatistics>& rows) const {
    for (const auto& [own, track] : tracks_) {
      for (const auto& [site, summary] : track.sites) {
        const SiteId id = source_.find(site);
        if (!selection_.takes_site(timeline_.site(id).name)) {
          continue;
        }
        rows.push_back({source_.find(own), statistics_of(id, summary, true)});
      }
    }
  }

 private:
  struct Track {
    capture::ScopeStack stack;
    std::map<SiteId, capture::SiteSummary> sites;
  };

  const Timeline& timeline_;
  const timeline::Source& source_;
  const Selection& selection_;
  std::map<TrackId, Track> tracks_;
};

}  // namespace

std::vector<ThreadSiteStatistics> gather_thread_statistics(const Timeline& timeline, const Selection& selection,
                                                           const std::function<void(double)>& on_progress) {
  std::vector<ThreadSiteStatistics> rows;
  const auto sources = timeline::sources_of(timeline);
  double sources_done = 0;
  for (const auto& source : sources) {
    TracksOfSource tracks(timeline, *source, selection);
    BatchCut cut(timeline, *source, selection);
    timeline::OpenTracks open;
    EventBatch batch;
    for (std::size_t block = 0; block < source->block_count(); ++block) {
      if (!cut.needs(block) || !source->read_own(block, BatchParts::scopes, batch)) {
        continue;
      }
      open.end_lost(batch);
      cut.cut(batch);
      tracks.add(batch);
      if (on_progress) {
        on_progress((sources_done + static_cast<double>(block + 1) / static_cast<double>(source->block_count())) /
                    static_cast<double>(sources.size()));
      }
    }
    cut.close_open(batch);
    tracks.add(batch);
    tracks.put(rows);
    ++sources_done;
  }
  std::map<TrackId, std::uint64_t> totals;
  for (const ThreadSiteStatistics& row : rows) {
    totals[row.track] += row.scopes.self_ns;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const ThreadSiteStatistics& a, const ThreadSiteStatistics& b) {
    const std::uint64_t first = totals[a.track];
    const std::uint64_t second = totals[b.track];
    return std::tie(second, a.track, b.scopes.durations.total_ns) <
           std::tie(first, b.track, a.scopes.durations.total_ns);
  });
  return rows;
}

}  // namespace kymo::stats
