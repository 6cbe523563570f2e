// A table of sites with data for drawing their distributions.
#include "stats/statistics/site_figures.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "capture/summary/histogram.hpp"
#include "capture/summary/keyed_table.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "capture/summary/summary.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

namespace {

using capture::Histogram;

SiteFigures make_figures(SiteId site, const DurationStatistics& durations, std::uint64_t self_ns,
                         const Histogram& histogram) {
  SiteFigures figures;
  figures.site = site;
  figures.count = durations.count;
  figures.total_ns = durations.total_ns;
  figures.self_ns = self_ns;
  figures.mean_ns = durations.mean_ns;
  figures.min_ns = durations.min_ns;
  figures.p50_ns = durations.p50_ns;
  figures.p95_ns = durations.p95_ns;
  figures.p99_ns = durations.p99_ns;
  figures.max_ns = durations.max_ns;
  figures.bars = logarithmic_bars(histogram, SiteFigures::most_bars);
  return figures;
}

}  // namespace

std::vector<std::uint64_t> logarithmic_bars(const Histogram& histogram, std::size_t most) {
  if (histogram.empty()) {
    return {};
  }
  // No more bars than buckets, or some would stay empty.
  const std::size_t buckets =
      std::size_t{Histogram::index_of(histogram.max_ns())} - Histogram::index_of(histogram.min_ns()) + 1;
  std::vector<std::uint64_t> bars(std::min(most, buckets));
  const double from = std::log1p(static_cast<double>(histogram.min_ns()));
  const double length = std::log1p(static_cast<double>(histogram.max_ns())) - from;
  histogram.for_each_bucket([&](const Histogram::Bucket& bucket) {
    const double middle = (static_cast<double>(std::max(bucket.lowest_ns, histogram.min_ns())) +
                           static_cast<double>(std::min(bucket.highest_ns, histogram.max_ns()))) /
                          2;
    const double place = length > 0 ? (std::log1p(middle) - from) / length * static_cast<double>(bars.size()) : 0;
    bars[std::min(bars.size() - 1, static_cast<std::size_t>(std::max(place, 0.0)))] += bucket.count;
  });
  return bars;
}

double SiteFigures::bar_start_ns(std::size_t bar) const {
  const double from = std::log1p(static_cast<double>(min_ns));
  const double length = std::log1p(static_cast<double>(max_ns)) - from;
  const double share = bars.empty() ? 0 : static_cast<double>(bar) / static_cast<double>(bars.size());
  return std::expm1(from + length * share);
}

std::vector<SiteFigures> figures_of_sites(const Timeline& timeline) {
  StatisticsOptions options;
  options.keeps_histograms = true;
  const Statistics statistics = gather_statistics(timeline, options);
  std::vector<SiteFigures> all;
  for (const SiteStatistics& site : statistics.sites) {
    all.push_back(make_figures(site.site, site.durations, site.self_ns, *site.durations.histogram));
  }
  return all;
}

std::vector<SiteFigures> figures_of_sites(const std::vector<std::shared_ptr<const EventBatch>>& batches) {
  std::unordered_map<TrackId, capture::ScopeStack> stacks;
  capture::KeyedTable<capture::SiteSummary> sites;
  for (const auto& batch : batches) {
    for (const ScopeRun& run : batch->runs) {
      capture::match(run, stacks[run.track], [&sites](const capture::ScopeSpan& span) { sites[span.site].add(span); });
    }
  }
  std::vector<SiteFigures> all;
  for (const capture::SiteSummary& site : sites) {
    all.push_back(make_figures(site.id, statistics_of(site.durations), site.self_ns, site.durations));
  }
  std::sort(all.begin(), all.end(), [](const SiteFigures& a, const SiteFigures& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.site < b.site;
  });
  return all;
}

}  // namespace kymo::stats
