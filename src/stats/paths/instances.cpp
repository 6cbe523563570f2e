#include "stats/paths/instances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "base/text/number_text.hpp"
#include "base/text/pattern.hpp"
#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_walk.hpp"
#include "stats/common/random_source.hpp"
#include "stats/common/sample_tests.hpp"
#include "stats/common/value_text.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

namespace {

constexpr std::size_t most_command_shown = 40;

void sort_by_start(std::vector<Instance>& instances) {
  std::stable_sort(instances.begin(), instances.end(),
                   [](const Instance& a, const Instance& b) { return a.start_ns < b.start_ns; });
}

/// Collects the outermost scopes of some sites on one track.
class SiteVisitor {
 public:
  SiteVisitor(const std::vector<bool>& chosen, TrackId track, Instances& found)
      : chosen_(chosen), track_(track), found_(found) {}

  void reach(std::size_t /*position*/, const ScopeEvent& /*event*/) {}
  void begin(const OpenScope& scope, std::size_t /*depth*/) { open_ += is_chosen(scope.site) ? 1U : 0U; }
  void end(const OpenScope& scope, std::size_t /*depth*/, std::int64_t end_ns, capture::ScopeEnding how) {
    if (!is_chosen(scope.site) || --open_ != 0) {
      return;
    }
    if (how != capture::ScopeEnding::closed || !is_usable_time(scope.start_ns) || !is_usable_time(end_ns)) {
      return;
    }
    if (found_.all.size() == most_instances) {
      found_.is_cut = true;
      return;
    }
    found_.all.push_back({scope.start_ns, end_ns - scope.start_ns, track_, 0});
  }

 private:
  [[nodiscard]] bool is_chosen(SiteId site) const { return site.index() < chosen_.size() && chosen_[site.index()]; }

  const std::vector<bool>& chosen_;
  TrackId track_;
  Instances& found_;
  std::size_t open_ = 0;
};

/// What so many standard deviations exceed only one of `count` normal numbers, in one set of a hundred. By bisection.
double deviations_of_chance(std::size_t count) {
  const double probability = 0.01 / static_cast<double>(count);
  double low = 0;
  double high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
  }
  return high;
}

/// The logarithm above which a group of the longest stands apart from the others by a gap; infinite if none does.
///
/// Of exponential numbers, each gap between neighbours times the number of those above it has the same exponential
/// distribution (Renyi). Tails of durations' logarithms are rarely heavier than that. So the gap below the k longest is
/// compared with the mean of the gaps from there down to the median, for each k up to a quarter.
double gap_of(const std::vector<double>& ascending) {
  const std::size_t count = ascending.size();
  const auto scaled_gap = [&](std::size_t above) {
    return static_cast<double>(above) * (ascending[count - above] - ascending[count - above - 1]);
  };
  const std::size_t tried = count / 4;
  const std::size_t half = count / 2;
  double sum = 0;
  double least_p = 0.01 / static_cast<double>(tried);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t above = half; above >= 1; --above) {
    const auto below = static_cast<double>(half - above);
    if (above <= tried && sum > 0) {
      // With a mean of so many, the ratio has an F distribution with 2 and 2 * below degrees of freedom.
      const double p_value = std::exp(-below * std::log1p(scaled_gap(above) / sum));
      if (p_value < least_p) {
        least_p = p_value;
        best = (ascending[count - above] + ascending[count - above - 1]) / 2;
      }
    }
    sum += scaled_gap(above);
  }
  return best;
}

/// The amount above which instances stand apart.
double threshold_of(const std::vector<double>& amounts) {
  const double greatest = *std::max_element(amounts.begin(), amounts.end());
  std::vector<double> logarithms;
  logarithms.reserve(amounts.size());
  for (const double amount : amounts) {
    logarithms.push_back(std::log(std::max({amount, greatest * 1e-9, std::numeric_limits<double>::min()})));
  }
  std::vector<double> steps;
  for (std::size_t i = 1; i < logarithms.size(); ++i) {
    steps.push_back(std::abs(logarithms[i] - logarithms[i - 1]));
  }
  // 1.4826: a normal distribution's deviation by the median of absolute values. A step has two numbers' variance.
  const double between_neighbours = 1.4826 * upper_median(steps) / std::sqrt(2.0);
  std::sort(logarithms.begin(), logarithms.end());
  const double median = logarithms[logarithms.size() / 2];
  const double below = median - logarithms[static_cast<std::size_t>(0.1587 * static_cast<double>(logarithms.size()))];
  const auto count = static_cast<double>(logarithms.size());
  // Deviations of few instances are uncertain; the factor covers two of their standard errors.
  const double deviation = std::min(between_neighbours, below) * (1 + 2.5 / std::sqrt(count));
  const double apart = std::min(median + deviation * deviations_of_chance(amounts.size()), gap_of(logarithms));
  return std::exp(std::max(median + std::log(1.1), apart));
}

bool is_chosen(const Instance& instance, const SlowSetOptions& options) {
  if (options.number) {
    return instance.number == *options.number;
  }
  return instance.start_ns < options.time->end_ns && instance.end_ns() > options.time->start_ns;
}

/// Keeps a random sample of the indices, ascending.
void thin(std::vector<std::size_t>& indices, std::size_t most) {
  RandomSource random(1);
  for (std::size_t i = 0; i < most && most < indices.size(); ++i) {
    std::swap(indices[i], indices[i + static_cast<std::size_t>(random.below(indices.size() - i))]);
  }
  indices.resize(std::min(indices.size(), most));
  std::sort(indices.begin(), indices.end());
}

}  // namespace

std::vector<TimeRange> union_of(std::vector<TimeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.start_ns < b.start_ns; });
  std::vector<TimeRange> joined;
  for (const TimeRange& range : ranges) {
    if (!joined.empty() && range.start_ns <= joined.back().end_ns) {
      joined.back().end_ns = std::max(joined.back().end_ns, range.end_ns);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

namespace {

/// Whether the scopes of a frame were recorded, as KYMO_SCOPE_EVERY and KYMO_SCOPE_MAX_FRAMES asked.
class RecordedFrames {
 public:
  RecordedFrames(const Timeline& timeline, ProcessId process) {
    if (!process) {
      return;
    }
    for (const auto& [key, value] : timeline.process(process).infos) {
      if (key == "scope_every") {
        every_ = base::parse_integer<std::uint64_t>(value).value_or(1);
      } else if (key == "scope_max_frames") {
        first_ = base::parse_integer<std::uint64_t>(value).value_or(first_);
      }
    }
  }
  /// Counted from 1: that many marks came before its scopes.
  [[nodiscard]] bool has(std::uint64_t number) const {
    return number < first_ && (every_ <= 1 || number % every_ == 0);
  }

 private:
  std::uint64_t every_ = 1;
  std::uint64_t first_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace

Instances frames_of_main_streams(const Timeline& timeline) {
  Instances found;
  struct Stream {
    RecordedFrames recorded;
    capture::FrameWalk walk;
  };
  std::map<FrameStreamId, Stream> streams;
  std::size_t count = 0;
  BatchCursor cursor(timeline, {}, BatchParts::others);
  for (EventBatch batch; cursor.next(batch);) {
    for (const FrameMark& mark : batch.frame_marks) {
      const FrameStreamDeclaration& declared = timeline.frame_stream(mark.stream);
      if (!declared.name.empty()) {
        continue;
      }
      if (count == most_instances) {
        found.is_cut = true;
        break;
      }
      ++count;
      auto stream = streams.find(mark.stream);
      if (stream == streams.end()) {
        stream = streams.emplace(mark.stream, Stream{RecordedFrames(timeline, declared.process), {}}).first;
      }
      auto& [recorded, walk] = stream->second;
      if (walk.take(mark) && is_usable_time(walk.start_ns()) && is_usable_time(walk.mark_ns()) &&
          recorded.has(walk.number())) {
        found.all.push_back({walk.start_ns(), walk.duration_ns(), mark.track, walk.number()});
      }
    }
  }
  sort_by_start(found.all);
  return found;
}

std::vector<Instances> split_by_process(const Timeline& timeline, const Instances& frames) {
  // Several captures of one process are one.
  using Process = std::tuple<std::string, std::string, std::uint64_t>;  // host, boot, pid
  struct Part {
    Instances frames;
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  };
  std::map<Process, Part> parts;
  std::int64_t latest_end_ns = std::numeric_limits<std::int64_t>::min();
  const Part* latest = nullptr;
  bool are_at_a_time = false;
  bool are_ranks = true;
  for (const Instance& frame : frames.all) {
    const ProcessDeclaration& process = timeline.process(timeline.track(frame.track).process).declaration;
    Part& part = parts[{process.host, process.boot_id, process.pid}];
    if (part.frames.all.empty()) {
      const std::string pid = "process " + std::to_string(process.pid);
      const std::string& command = process.command_line;
      part.frames.process = command.empty() ? pid : shortened(command, most_command_shown) + " (" + pid + ")";
      part.frames.is_cut = frames.is_cut;
      are_ranks = are_ranks && !process.rank.empty();
    }
    are_at_a_time = are_at_a_time || (latest != nullptr && latest != &part && frame.start_ns < latest_end_ns);
    if (frame.end_ns() > latest_end_ns) {
      latest_end_ns = frame.end_ns();
      latest = &part;
    }
    part.frames.all.push_back(frame);
  }
  if (!are_at_a_time || are_ranks) {
    return {frames};
  }
  std::vector<Instances> apart;
  apart.reserve(parts.size());
  for (auto& [process, part] : parts) {
    apart.push_back(std::move(part.frames));
  }
  return apart;
}

Instances scopes_of_sites(const Timeline& timeline, const std::string& pattern,
                          const std::function<void(double)>& on_progress) {
  Instances found;
  found.name = pattern;
  std::vector<bool> chosen;
  std::set<std::string> names;
  for (const SiteDeclaration& site : timeline.declarations().sites) {
    chosen.push_back(base::fits_pattern(pattern, site.name));
    if (chosen.back()) {
      names.insert(site.name);
    }
  }
  if (names.empty()) {
    throw SelectionError("no scope is named '" + pattern + "'; `kymo stats` lists them");
  }
  if (names.size() == 1) {
    found.name = *names.begin();
  }
  struct Track {
    capture::ScopeWalk walk;
    SiteVisitor visitor;
  };
  std::unordered_map<TrackId, Track> tracks;
  BatchCursor cursor(timeline, {}, BatchParts::scopes);
  for (EventBatch batch; cursor.next(batch);) {
    for (const ScopeRun& run : batch.runs) {
      auto place = tracks.find(run.track);
      if (place == tracks.end()) {
        place = tracks.emplace(run.track, Track{{}, SiteVisitor(chosen, run.track, found)}).first;
      }
      place->second.walk.take(run, place->second.visitor);
    }
    if (on_progress) {
      on_progress(cursor.share_done());
    }
  }
  sort_by_start(found.all);
  for (std::size_t i = 0; i < found.all.size(); ++i) {
    found.all[i].number = i + 1;
  }
  return found;
}

std::vector<std::string> costliest_sites(const Timeline& timeline, std::size_t most) {
  const Statistics statistics = gather_statistics(timeline, StatisticsOptions());
  std::vector<std::string> names;
  for (const SiteStatistics& site : statistics.sites) {
    const SiteDeclaration& declared = timeline.site(site.site);
    const bool is_work = declared.role == SiteRole::work && declared.process;
    const bool is_new = std::find(names.begin(), names.end(), declared.name) == names.end();
    if (is_work && is_new && site.durations.count >= least_instances && names.size() < most) {
      names.push_back(declared.name);
    }
  }
  return names;
}

std::vector<double> durations_of(const Instances& instances) {
  std::vector<double> durations;
  durations.reserve(instances.all.size());
  for (const Instance& instance : instances.all) {
    durations.push_back(static_cast<double>(instance.duration_ns));
  }
  return durations;
}

SlowSet choose_slow(const Instances& instances, const std::vector<double>& amounts, const SlowSetOptions& options) {
  SlowSet set;
  const std::vector<Instance>& all = instances.all;
  if (all.size() < least_instances) {
    return set;
  }
  const double tail = threshold_of(amounts);
  const bool is_asked = options.number || options.time;
  set.threshold = is_asked ? 0 : options.over_ns ? static_cast<double>(*options.over_ns) : tail;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_asked ? is_chosen(all[i], options) : amounts[i] > set.threshold) {
      set.slow.push_back(i);
    } else if (!is_asked || amounts[i] <= tail) {
      set.usual.push_back(i);
    }
  }
  std::stable_sort(set.slow.begin(), set.slow.end(),
                   [&amounts](std::size_t a, std::size_t b) { return amounts[a] > amounts[b]; });
  set.slow.resize(std::min(set.slow.size(), options.most_slow));
  thin(set.usual, options.most_usual);
  return set;
}

SlowSet choose_slow(const Instances& instances, const SlowSetOptions& options) {
  return choose_slow(instances, durations_of(instances), options);
}

SlowSet choose_sides(const Timeline& timeline, const Instances& instances, const std::vector<double>& amounts,
                     const std::vector<std::size_t>& base_captures, std::size_t most_of_each) {
  SlowSet set;
  for (std::size_t i = 0; i < instances.all.size(); ++i) {
    const std::size_t capture = timeline.process(timeline.track(instances.all[i].track).process).capture;
    const bool is_base = std::find(base_captures.begin(), base_captures.end(), capture) != base_captures.end();
    (is_base ? set.usual : set.slow).push_back(i);
  }
  thin(set.usual, most_of_each);
  thin(set.slow, most_of_each);
  std::stable_sort(set.slow.begin(), set.slow.end(),
                   [&amounts](std::size_t a, std::size_t b) { return amounts[a] > amounts[b]; });
  if (std::min(set.slow.size(), set.usual.size()) < least_instances) {
    throw SelectionError("the base has " + count_text(set.usual.size()) + " and the new captures have " +
                         count_text(set.slow.size()) + (instances.name.empty() ? " frames" : " of these scopes") +
                         "; both need at least " + std::to_string(least_instances));
  }
  return set;
}

}  // namespace kymo::stats
