// Computes the steps of metrics.
#include "panel/layout/metric_layout.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "timeline/display_order.hpp"

namespace kymo::panel {

namespace {

using timeline::DetailSeries;
using timeline::SampleGroup;

constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();
/// A sensor may miss some of its deadlines without a gap.
constexpr std::int64_t intervals_held = 5;
constexpr std::int64_t least_hold_ns = 100'000'000;

void put_step(const TimeAxis& axis, double least_pixels, const SampleGroup& group, MetricSteps& out) {
  MetricStep step;
  step.left = static_cast<float>(std::max(axis.to_pixel(group.start_ns), -1.0));
  step.right = static_cast<float>(std::min(axis.to_pixel(group.end_ns), axis.width() + 1));
  step.last_ns = group.end_ns;
  // Summaries count infinite samples too.
  step.min = std::isfinite(group.min) ? group.min : group.max;
  step.max = std::isfinite(group.max) ? group.max : group.min;
  step.last = group.last;
  step.is_stale = group.is_stale;
  if (!(group.min <= group.max) || !std::isfinite(step.min) || !std::isfinite(step.max)) {
    step.min = std::numeric_limits<double>::infinity();
    step.max = -step.min;
  } else {
    out.min = out.has_values ? std::min(out.min, step.min) : step.min;
    out.max = out.has_values ? std::max(out.max, step.max) : step.max;
    out.has_values = true;
    out.latest = std::isfinite(group.last) ? group.last : out.latest;
  }
  if (!out.steps.empty() && double{step.right} < double{out.steps.back().left} + least_pixels) {
    MetricStep& last = out.steps.back();
    last.right = std::max(last.right, step.right);
    last.last_ns = step.last_ns;
    last.min = std::min(last.min, step.min);
    last.max = std::max(last.max, step.max);
    last.last = step.last;
    last.is_stale = last.is_stale && step.is_stale;
    return;
  }
  out.steps.push_back(step);
}

/// Keeps the latest sample up to a time.
void keep_latest(const DetailSeries& series, std::int64_t until_ns, std::map<MetricId, SampleGroup>& latest) {
  const std::vector<SampleGroup>& samples = series.samples.empty() ? series.groups : series.samples;
  if (samples.empty() || samples.front().end_ns > until_ns) {
    return;
  }
  const auto behind =
      std::upper_bound(samples.begin(), samples.end(), until_ns,
                       [](std::int64_t time_ns, const SampleGroup& sample) { return time_ns < sample.end_ns; });
  const SampleGroup& last = *(behind - 1);
  const double none = std::numeric_limits<double>::infinity();
  const bool is_number = std::isfinite(last.last);
  const SampleGroup one = {last.end_ns, last.end_ns,  is_number ? last.last : none, is_number ? last.last : -none,
                           last.last,   last.is_stale};
  SampleGroup& kept = latest.try_emplace(series.metric, one).first->second;
  kept = one.end_ns >= kept.end_ns ? one : kept;
}

/// The last sample of each metric up to a time.
std::map<MetricId, SampleGroup> latest_samples(const std::vector<Piece>& pieces, const std::vector<Piece>& past,
                                               std::int64_t until_ns) {
  std::map<MetricId, SampleGroup> latest;
  for (const std::vector<Piece>* const list : {&past, &pieces}) {
    for (const Piece& piece : *list) {
      if (piece->start_ns > until_ns) {
        continue;
      }
      for (const DetailSeries& series : piece->series) {
        keep_latest(series, until_ns, latest);
      }
    }
  }
  return latest;
}

/// Lets each value hold until the next one, as far as it does.
void extend_steps(const TimeAxis& axis, std::int64_t hold_ns, MetricSteps& out) {
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    MetricStep& step = out.steps[i];
    const double most = i + 1 < out.steps.size() ? double{out.steps[i + 1].left}
                                                 : std::min(axis.to_pixel(axis.data().end_ns), axis.width() + 1);
    const double held = axis.to_pixel(add_length(step.last_ns, hold_ns));
    step.right = std::max(step.right, static_cast<float>(std::min(most, held)));
  }
}

void put_series(const DetailSeries& series, const TimeAxis& axis, double least_pixels, MetricSteps& out) {
  const TimeRange range = axis.range();
  for (std::size_t i = 0; i < series.groups.size(); ++i) {
    const SampleGroup& group = series.groups[i];
    if (!overlaps(group.start_ns, group.end_ns, range)) {
      continue;
    }
    const std::size_t first = i * DetailSeries::group_size;
    const std::size_t end = std::min(series.samples.size(), first + DetailSeries::group_size);
    const double length_ns = static_cast<double>(length_between(group.start_ns, group.end_ns));
    if (first >= end || length_ns < least_pixels * axis.ns_per_pixel()) {
      put_step(axis, least_pixels, group, out);
      continue;
    }
    for (std::size_t sample = first; sample < end; ++sample) {
      if (overlaps(series.samples[sample].start_ns, series.samples[sample].end_ns, range)) {
        put_step(axis, least_pixels, series.samples[sample], out);
      }
    }
  }
}

/// Replaces a running total by its growth per second.
void make_rates(const TimeAxis& axis, std::int64_t renewal_ns, MetricSteps& out) {
  std::vector<MetricStep> totals = std::move(out.steps);
  out.steps.clear();
  out.has_values = false;
  out.is_rate = true;
  const MetricStep* anchor = nullptr;
  for (const MetricStep& total : totals) {
    if (!std::isfinite(total.last)) {
      continue;
    }
    if (anchor == nullptr || total.last < anchor->last) {
      anchor = &total;
      continue;
    }
    const std::int64_t length_ns = length_between(anchor->last_ns, total.last_ns);
    // Between two renewals of its source a total stands still.
    if (length_ns <= 0 || length_ns < renewal_ns || (total.is_stale && total.last == anchor->last)) {
      continue;
    }
    const double rate = (total.last - anchor->last) * (1e9 / static_cast<double>(length_ns));
    if (!std::isfinite(rate)) {
      continue;
    }
    MetricStep step = total;
    step.left = static_cast<float>(std::max(axis.to_pixel(anchor->last_ns), -1.0));
    step.right = static_cast<float>(std::min(axis.to_pixel(total.last_ns), axis.width() + 1));
    step.min = step.max = step.last = rate;
    step.is_stale = false;
    out.min = out.has_values ? std::min(out.min, rate) : rate;
    out.max = out.has_values ? std::max(out.max, rate) : rate;
    out.latest = rate;
    out.has_values = true;
    out.steps.push_back(step);
    anchor = &total;
  }
}

/// The place of a metric among others; those that are not declared come last.
int rank_of(const MetricDeclaration* metric) {
  return metric == nullptr ? std::numeric_limits<int>::max() : static_cast<int>(timeline::subject_of(*metric));
}

}  // namespace

std::string metric_title(const MetricDeclaration& metric) {
  std::string title = metric.name;
  for (const auto& [key, value] : metric.labels) {
    // A GPU has a number as well, which a person can read.
    if (key != "uuid" || metric.labels.size() == 1) {
      title += ' ' + value;
    }
  }
  return clean_text(title, 60);
}

std::string unit_of(const MetricDeclaration& metric, const MetricSteps& steps) {
  return !steps.is_rate ? metric.unit : metric.unit == "J" ? "W" : metric.unit + "/s";
}

double share_between(double low, double high, double value) {
  const double share =
      std::isfinite(high - low) ? (value - low) / (high - low) : (value / 2 - low / 2) / (high / 2 - low / 2);
  return std::clamp(share, 0.0, 1.0);
}

bool is_constant(const MetricDeclaration* metric, const MetricSteps& steps) {
  return metric != nullptr && timeline::folds_if_constant(*metric) && (!steps.has_values || steps.min == steps.max);
}

void MetricHolds::learn(const std::vector<Piece>& pieces) {
  struct Known {
    std::int64_t last_ns = 0;
    std::int64_t shortest_ns = forever;
  };
  std::map<MetricId, Known> all;
  auto next = all.end();  // pieces usually have the same metrics in the same order
  for (const Piece& piece : pieces) {
    for (const DetailSeries& series : piece->series) {
      if (series.samples.empty()) {
        continue;
      }
      const bool is_next = next != all.end() && next->first == series.metric;
      const auto [place, is_new] = is_next ? std::pair(next, false) : all.try_emplace(series.metric);
      Known& known = place->second;
      const std::int64_t first = series.samples.front().start_ns;
      const std::int64_t last = series.samples.back().start_ns;
      const auto count = static_cast<std::int64_t>(series.samples.size());
      const std::int64_t length_ns = count > 1 ? length_between(first, last) / (count - 1)
                                     : is_new  ? 0
                                               : length_between(known.last_ns, first);
      known.shortest_ns = length_ns > 0 ? std::min(known.shortest_ns, length_ns) : known.shortest_ns;
      known.last_ns = last;
      next = std::next(place) == all.end() ? all.begin() : std::next(place);
    }
  }
  for (const auto& [metric, known] : all) {
    if (known.shortest_ns != forever) {
      std::int64_t& shortest = intervals_.try_emplace(metric, known.shortest_ns).first->second;
      shortest = std::min(shortest, known.shortest_ns);
    }
  }
}

std::int64_t MetricHolds::hold_ns(const MetricDeclaration& metric) const {
  const auto interval = intervals_.find(metric.id);
  if (metric.source.empty() || interval == intervals_.end()) {
    return forever;
  }
  const std::int64_t least = std::max({interval->second, metric.renewal_ns, least_hold_ns / intervals_held});
  return least > forever / intervals_held ? forever : least * intervals_held;
}

std::vector<MetricSteps> lay_out_metrics(const std::vector<Piece>& pieces, const std::vector<Piece>& past,
                                         const MetricHolds& holds, const Declarations& declarations,
                                         const TimeAxis& axis, double least_pixels) {
  std::map<MetricId, MetricSteps> all;
  const auto hold_of = [&](MetricId id) {
    const MetricDeclaration* const metric = find_metric(declarations, id);
    return metric != nullptr ? holds.hold_ns(*metric) : forever;
  };
  const std::int64_t start_ns = axis.range().start_ns;
  // The value before the range may hold into it.
  for (const auto& [metric, sample] : latest_samples(pieces, past, start_ns)) {
    if (sample.end_ns < start_ns && add_length(sample.end_ns, hold_of(metric)) >= start_ns) {
      put_step(axis, least_pixels, sample, all[metric]);
    }
  }
  auto next = all.begin();  // pieces usually have the same metrics in the same order
  for (const Piece& piece : pieces) {
    for (const DetailSeries& series : piece->series) {
      if (next == all.end() || next->first != series.metric) {
        next = all.try_emplace(series.metric).first;
      }
      put_series(series, axis, least_pixels, next->second);
      next = std::next(next) == all.end() ? all.begin() : std::next(next);
    }
  }
  std::vector<MetricSteps> result;
  result.reserve(all.size());
  for (auto& [metric, steps] : all) {
    steps.metric = metric;
    const MetricDeclaration* const declared = find_metric(declarations, metric);
    if (declared != nullptr && declared->kind != MetricKind::gauge) {
      make_rates(axis, declared->renewal_ns, steps);
    } else {
      extend_steps(axis, hold_of(metric), steps);
    }
    result.push_back(std::move(steps));
  }
  std::stable_sort(result.begin(), result.end(), [&declarations](const MetricSteps& a, const MetricSteps& b) {
    return rank_of(find_metric(declarations, a.metric)) < rank_of(find_metric(declarations, b.metric));
  });
  return result;
}

const MetricDeclaration* find_metric(const Declarations& declarations, MetricId id) {
  const auto& metrics = declarations.metrics;
  const auto found = std::lower_bound(metrics.begin(), metrics.end(), id,
                                      [](const MetricDeclaration& metric, MetricId key) { return metric.id < key; });
  return found != metrics.end() && found->id == id ? &*found : nullptr;
}

}  // namespace kymo::panel
