// A table of sites with data for drawing their distributions.
#include "stats/statistics/site_figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

namespace {

using capture::Histogram;

SiteFigures make_figures(SiteId site, const DurationStatistics& durations, std::uint64_t self_ns,
                         const Histogram& histogram) {
  SiteFigures figures{durations, site, self_ns, logarithmic_bars(histogram, SiteFigures::most_bars)};
  figures.histogram = nullptr;
  return figures;
}

/// The bar that counts a bucket.
std::size_t bar_of(std::int64_t lowest_ns, std::int64_t highest_ns, TimeRange all, std::size_t bars) {
  const double from = std::log1p(static_cast<double>(all.start_ns));
  const double length = std::log1p(static_cast<double>(all.end_ns)) - from;
  const double middle =
      (static_cast<double>(std::max(lowest_ns, all.start_ns)) + static_cast<double>(std::min(highest_ns, all.end_ns))) /
      2;
  const double place = length > 0 ? (std::log1p(middle) - from) / length * static_cast<double>(bars) : 0;
  return std::min(bars - 1, static_cast<std::size_t>(std::max(place, 0.0)));
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
  const TimeRange all{histogram.min_ns(), histogram.max_ns()};
  histogram.for_each_bucket([&](const Histogram::Bucket& bucket) {
    bars[bar_of(bucket.lowest_ns, bucket.highest_ns, all, bars.size())] += bucket.count;
  });
  return bars;
}

void DurationCounter::add(std::int64_t duration_ns) {
  histogram_.record(duration_ns);
}

SiteFigures DurationCounter::figures() const {
  return make_figures({}, statistics_of(histogram_), 0, histogram_);
}

double SiteFigures::bar_start_ns(std::size_t bar) const {
  const double from = std::log1p(static_cast<double>(min_ns));
  const double length = std::log1p(static_cast<double>(max_ns)) - from;
  const double share = bars.empty() ? 0 : static_cast<double>(bar) / static_cast<double>(bars.size());
  return std::expm1(from + length * share);
}

std::pair<std::int64_t, std::int64_t> SiteFigures::bar_lengths_ns(std::size_t bar) const {
  std::pair<std::int64_t, std::int64_t> lengths(1, 0);
  for (std::uint32_t index = Histogram::index_of(min_ns); bar < bars.size() && index <= Histogram::index_of(max_ns);
       ++index) {
    const std::int64_t lowest_ns = Histogram::lowest_of(index);
    const std::int64_t highest_ns = Histogram::highest_of(index);
    if (bar_of(lowest_ns, highest_ns, {min_ns, max_ns}, bars.size()) == bar) {
      lengths = {lengths.first > lengths.second ? lowest_ns : lengths.first, highest_ns};
    }
  }
  return lengths;
}

double SiteFigures::share_of_shorter(std::int64_t duration_ns) const {
  if (bars.empty() || count == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto duration = static_cast<double>(duration_ns);
  const auto all = static_cast<double>(count);
  // A duration, and the share of the scopes below it.
  using Knot = std::pair<double, double>;
  Knot below(static_cast<double>(min_ns), 0);
  Knot above(static_cast<double>(max_ns), 1);
  const auto take = [&](double knot_ns, double share) {
    if (knot_ns <= duration && share >= below.second) {
      below = {knot_ns, share};
    } else if (knot_ns > duration && share < above.second) {
      above = {knot_ns, share};
    }
  };
  std::uint64_t counted = 0;
  for (std::size_t bar = 0; bar < bars.size(); ++bar) {
    take(bar_start_ns(bar), static_cast<double>(counted) / all);
    counted += bars[bar];
  }
  for (const auto& [value_ns, share] :
       {std::pair(p50_ns, 0.5), std::pair(p95_ns, 0.95), std::pair(p99_ns, 0.99), std::pair(p99_9_ns, 0.999)}) {
    take(static_cast<double>(value_ns), share);
  }
  const double length = above.first - below.first;
  const double place = duration >= static_cast<double>(max_ns) ? 1
                       : length > 0                            ? std::clamp((duration - below.first) / length, 0.0, 1.0)
                                                               : 0;
  const double share = below.second + place * std::max(above.second - below.second, 0.0);
  return std::clamp(share, 0.0, (all - 1) / all);  // it is not shorter than itself
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

void SiteCounter::add(const capture::ScopeSpan& scope) {
  sites_[scope.site].add(scope);
}

std::vector<SiteFigures> SiteCounter::figures() const {
  std::vector<SiteFigures> all;
  for (const capture::SiteSummary& site : sites_) {
    all.push_back(make_figures(site.id, statistics_of(site.durations), site.self_ns, site.durations));
  }
  std::sort(all.begin(), all.end(), [](const SiteFigures& a, const SiteFigures& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.site < b.site;
  });
  return all;
}

}  // namespace kymo::stats
