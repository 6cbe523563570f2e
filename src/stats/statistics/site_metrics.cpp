// Metrics per site.
#include "stats/statistics/site_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/power/power_choice.hpp"
#include "base/text/metric_name.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/common/sample_tests.hpp"
#include "stats/statistics/scope_order.hpp"

namespace kymo::stats {

/// A metric as steps over time: its value, its integral, and its peak between two times. Steps by ascending time. Not
/// thread-safe.
class StepSeries {
 public:
  /// The metric's integral from the first step up to a time.
  struct Mark {
    double integral = 0;  ///< unit times seconds
    double known_s = 0;
    std::size_t step = 0;  ///< 1 + the index of the step at that time; 0: before the first
  };

  /// Sets the value from this time on; NaN: unknown. Times must not descend.
  void add(std::int64_t time_ns, double value) {
    if (!steps_.empty() && steps_.back().time_ns == time_ns) {
      steps_.back().value = value;
      return;
    }
    const Mark before = at(time_ns);
    steps_.push_back({time_ns, value, before.integral, before.known_s});
  }

  /// The median time between steps; 0 if there are fewer than two.
  [[nodiscard]] std::int64_t median_step_ns() const {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      lengths.push_back(nanoseconds_between(steps_[i - 1].time_ns, steps_[i].time_ns));
    }
    return upper_median(lengths);
  }

  /// Fast if times ascend from call to call, otherwise a binary search.
  [[nodiscard]] Mark at(std::int64_t time_ns) {
    if (last_ != 0 && (last_ > steps_.size() || steps_[last_ - 1].time_ns > time_ns)) {
      const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_ns,
                                          [](std::int64_t time, const Step& step) { return time < step.time_ns; });
      last_ = static_cast<std::size_t>(after - steps_.begin());
    }
    while (last_ < steps_.size() && steps_[last_].time_ns <= time_ns) {
      ++last_;
    }
    if (last_ == 0) {
      return {};
    }
    const Step& step = steps_[last_ - 1];
    const double seconds = std::isnan(step.value) ? 0 : seconds_between(step.time_ns, time_ns);
    return {step.integral + (seconds > 0 ? step.value * seconds : 0), step.known_s + seconds, last_};
  }

  /// The largest value between two marks; NaN if none is known.
  [[nodiscard]] double peak(const Mark& from, const Mark& to) const {
    double peak = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t step = std::max<std::size_t>(from.step, 1); step <= to.step; ++step) {
      peak = std::fmax(peak, steps_[step - 1].value);
    }
    return peak;
  }

 private:
  struct Step {
    std::int64_t time_ns = 0;
    double value = 0;
    double integral = 0;  // up to here
    double known_s = 0;
  };

  std::vector<Step> steps_;
  std::size_t last_ = 0;  // the step of the last at() call, as in Mark
};

class SiteMetricGathering {
 public:
  SiteMetricGathering(const Timeline& timeline, const SiteMetricOptions& options)
      : timeline_(timeline), options_(options), result_(timeline, options.by_process) {}

  SiteMetrics run() {
    for (const std::string& name : options_.names) {
      add_columns(name);
    }
    ScopeOrder order(timeline_);
    ScopeOrderVisitor visitor;
    visitor.on_batch = [](const EventBatch&) {};
    visitor.on_span = [](const QueueSpan&) {};
    visitor.on_scope = [&](const OrderedScopeEvent& event) { take(order.track_of(event.track), event); };
    visitor.on_progress = options_.on_progress;
    order.run(visitor);
    finish();
    return std::move(result_);
  }

 private:
  /// A metric, or the sum of all that feeds a machine.
  struct Series {
    StepSeries steps;
    std::int64_t step_ns = 0;
    bool is_estimated = false;
  };
  /// A site in a process.
  struct Site {
    std::uint32_t row = 0;
    std::uint32_t open = 0;
    std::int64_t start_ns = 0;
    std::vector<StepSeries::Mark> marks;  // by column
  };
  struct Sum {
    double integral = 0;
    double known_s = 0;
    double peak = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t times = 0;
    std::uint64_t brief = 0;
    bool is_estimated = false;
  };
  struct Process {
    TimeRange range;
    std::vector<Series*> series;  // by column; null: unknown there
    std::unordered_map<std::uint32_t, Site> sites;
  };
  struct Track {
    bool is_known = false;
    bool is_taken = false;
    Process* process = nullptr;
    std::vector<Site*> open;
  };

  [[nodiscard]] std::string machine_of(ProcessId process) const {
    const ProcessDeclaration& declared = timeline_.process(process).declaration;
    return declared.boot_id.empty() ? "host " + declared.host : declared.boot_id;
  }

  [[nodiscard]] std::vector<MetricDeclaration> metrics_of(const std::string& machine) const {
    std::vector<MetricDeclaration> metrics;
    for (const MetricDeclaration& metric : timeline_.declarations().metrics) {
      if (machine_of(metric.process) == machine) {
        metrics.push_back(metric);
      }
    }
    return metrics;
  }

  [[nodiscard]] bool has(const std::string& name) const {
    const auto& metrics = timeline_.declarations().metrics;
    return std::any_of(metrics.begin(), metrics.end(),
                       [&name](const MetricDeclaration& metric) { return metric.name == name; });
  }

  void add_columns(const std::string& name) {
    if (name == "power" && !has(name)) {
      add_power();
      return;
    }
    std::string wanted = name;
    if (name == "memory" && !has(name)) {
      for (const char* const choice : {"process_rss", "memory_mb", "memory_used"}) {
        if (has(choice)) {
          wanted = choice;
          break;
        }
      }
    }
    std::map<std::string, std::vector<const MetricDeclaration*>> found;  // by full name
    for (const MetricDeclaration& metric : timeline_.declarations().metrics) {
      const std::string full_name = base::full_name(metric);
      if (metric.name == wanted || full_name == wanted) {
        found[full_name].push_back(&metric);
      }
    }
    if (found.empty()) {
      fail(name);
    }
    for (const auto& [full_name, metrics] : found) {
      result_.columns_.push_back({found.size() == 1 ? name : full_name, metrics.front()->unit, {full_name}});
      add_column(metrics);
    }
  }

  [[noreturn]] void fail(const std::string& name) const {
    std::set<std::string> names;
    for (const MetricDeclaration& metric : timeline_.declarations().metrics) {
      names.insert(metric.name);
    }
    std::string list;
    for (const std::string& there : names) {
      list += (list.empty() ? "" : ", ") + there;
    }
    throw SelectionError("no metric is called " + name + "; there are: " + (list.empty() ? "none" : list));
  }

  /// Processes use their own metric, or else that of another process on their machine.
  void add_column(const std::vector<const MetricDeclaration*>& metrics) {
    std::map<MetricId, Series*> made;
    const auto series_of = [&](const MetricDeclaration& metric) {
      Series*& series = made[metric.id];
      if (series == nullptr) {
        series = series_.emplace_back(std::make_unique<Series>()).get();
        const MetricSeries samples = timeline_.series(metric.id);
        for (std::size_t i = 0; i < samples.times_ns.size(); ++i) {
          series->steps.add(samples.times_ns[i], samples.values[i]);
        }
        series->step_ns = std::max(series->steps.median_step_ns(), metric.renewal_ns);
        series->is_estimated = (metric.traits & MetricDeclaration::estimated) != 0;
      }
      return series;
    };
    for (const TimelineProcess& process : timeline_.processes()) {
      const ProcessId id = process.declaration.id;
      const MetricDeclaration* chosen = nullptr;
      for (const MetricDeclaration* const metric : metrics) {
        if (metric->process == id) {
          chosen = metric;
          break;
        }
        if (chosen == nullptr && machine_of(metric->process) == machine_of(id)) {
          chosen = metric;
        }
      }
      process_of(id).series.push_back(chosen == nullptr ? nullptr : series_of(*chosen));
    }
  }

  void add_power() {
    SiteMetricColumn column{"power", "W", {}};
    std::map<std::string, Series*> made;
    for (const TimelineProcess& process : timeline_.processes()) {
      const std::string machine = machine_of(process.declaration.id);
      const auto [place, is_new] = made.try_emplace(machine, nullptr);
      if (is_new) {
        place->second = make_power(metrics_of(machine), column.sources);
      }
      process_of(process.declaration.id).series.push_back(place->second);
    }
    if (column.sources.empty()) {
      throw SelectionError("no power was recorded: there is no metric in watts or joules that feeds the machine");
    }
    result_.columns_.push_back(std::move(column));
  }

  /// The sum of the machine's sources, or none if there are none.
  Series* make_power(const std::vector<MetricDeclaration>& metrics, std::vector<std::string>& names) {
    std::vector<PowerCurve> curves;
    bool is_estimated = false;
    for (const base::ChosenSource& source : base::choose_power_sources(metrics).sources) {
      if (source.side != base::PowerSide::machine) {
        continue;
      }
      std::vector<MetricSeries> samples;
      for (const MetricDeclaration& metric : source.metrics) {
        samples.push_back(timeline_.series(metric.id));
        is_estimated = is_estimated || (metric.traits & MetricDeclaration::estimated) != 0;
      }
      curves.emplace_back(source.method, source.metrics.front(), samples);
      names.push_back(source.name);
    }
    if (curves.empty()) {
      return nullptr;
    }
    Series* const series = series_.emplace_back(std::make_unique<Series>()).get();
    series->is_estimated = is_estimated;
    std::vector<std::int64_t> borders;
    for (const PowerCurve& curve : curves) {
      series->step_ns = std::max(series->step_ns, curve.renewal_ns());
      for (const PowerCurve::Piece& piece : curve.pieces()) {
        borders.push_back(piece.start_ns);
        borders.push_back(piece.end_ns);
      }
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (std::size_t i = 0; i < borders.size(); ++i) {
      Energy energy;
      double unknown_s = i + 1 == borders.size() ? 1 : 0;
      for (const PowerCurve& curve : curves) {
        const Energy part = i + 1 == borders.size() ? Energy() : curve.between(borders[i], borders[i + 1]);
        energy += part;
        unknown_s = std::max(unknown_s, part.unknown_s);
      }
      series->steps.add(borders[i], unknown_s > 0 ? std::numeric_limits<double>::quiet_NaN()
                                                  : energy.joules / seconds_between(borders[i], borders[i + 1]));
    }
    return series;
  }

  Process& process_of(ProcessId id) {
    const auto [place, is_new] = processes_.try_emplace(id);
    if (is_new) {
      place->second = std::make_unique<Process>();
      place->second->range = options_.selection.range_of(id);
    }
    return *place->second;
  }

  Track& track_of(TrackId id, std::uint32_t number) {
    if (number >= tracks_.size()) {
      tracks_.resize(number + std::size_t{1});
    }
    Track& track = tracks_[number];
    if (!track.is_known) {
      const TrackDeclaration& declared = timeline_.track(id);
      track.is_known = true;
      track.process = &process_of(declared.process);
      track.process->series.resize(result_.columns_.size());
      track.is_taken =
          options_.selection.takes_track(declared) && track.process->range.start_ns < track.process->range.end_ns;
    }
    return track;
  }

  void take(TrackId id, const OrderedScopeEvent& event) {
    Track& track = track_of(id, event.track);
    if (!track.is_taken) {
      return;
    }
    if (event.site) {
      const std::uint32_t row = result_.rows_.row_of(event.site);
      Site& site = track.process->sites[row];
      site.row = row;
      track.open.push_back(&site);
      if (site.open++ == 0) {
        begin(*track.process, site, event.time_ns);
      }
    } else if (!track.open.empty()) {
      Site& site = *track.open.back();
      track.open.pop_back();
      if (--site.open == 0) {
        end(*track.process, site, event.time_ns);
      }
    }
  }

  static std::int64_t within(TimeRange range, std::int64_t time_ns) {
    return std::min(std::max(time_ns, range.start_ns), range.end_ns);
  }

  static void begin(const Process& process, Site& site, std::int64_t time_ns) {
    site.start_ns = within(process.range, time_ns);
    site.marks.resize(process.series.size());
    for (std::size_t column = 0; column < process.series.size(); ++column) {
      if (process.series[column] != nullptr) {
        site.marks[column] = process.series[column]->steps.at(site.start_ns);
      }
    }
  }

  void end(const Process& process, const Site& site, std::int64_t time_ns) {
    const std::int64_t end_ns = within(process.range, time_ns);
    if (time_ns < process.range.start_ns || site.start_ns >= process.range.end_ns) {
      return;
    }
    sums_.resize(std::max<std::size_t>(sums_.size(), site.row + std::size_t{1}));
    std::vector<Sum>& sums = sums_[site.row];
    sums.resize(process.series.size());
    for (std::size_t column = 0; column < process.series.size(); ++column) {
      Series* const series = process.series[column];
      if (series == nullptr) {
        continue;
      }
      const StepSeries::Mark& from = site.marks[column];
      const StepSeries::Mark to = series->steps.at(end_ns);
      Sum& sum = sums[column];
      sum.integral += to.integral - from.integral;
      sum.known_s += to.known_s - from.known_s;
      sum.peak = std::fmax(sum.peak, series->steps.peak(from, to));
      ++sum.times;
      sum.brief += seconds_between(site.start_ns, end_ns) < static_cast<double>(series->step_ns) / 1e9 ? 1U : 0U;
      sum.is_estimated = sum.is_estimated || series->is_estimated;
    }
  }

  void finish() {
    const std::int64_t end_ns = timeline_.range().end_ns;
    for (auto& [id, process] : processes_) {
      for (auto& [row, site] : process->sites) {
        if (site.open != 0) {
          end(*process, site, end_ns);
        }
      }
    }
    for (const std::vector<Sum>& sums : sums_) {
      std::vector<SiteMetricValue>& values = result_.values_.emplace_back();
      for (const Sum& sum : sums) {
        // A site without any duration still has a value.
        const double mean = sum.known_s > 0 ? sum.integral / sum.known_s : sum.peak;
        values.push_back({mean, sum.peak, sum.known_s, sum.is_estimated || 2 * sum.brief > sum.times});
      }
    }
  }

  const Timeline& timeline_;
  const SiteMetricOptions& options_;
  SiteMetrics result_;
  std::vector<std::unique_ptr<Series>> series_;
  std::map<ProcessId, std::unique_ptr<Process>> processes_;
  std::vector<Track> tracks_;
  std::vector<std::vector<Sum>> sums_;  // by row and column
};

SiteMetrics gather_site_metrics(const Timeline& timeline, const SiteMetricOptions& options) {
  return SiteMetricGathering(timeline, options).run();
}

}  // namespace kymo::stats
