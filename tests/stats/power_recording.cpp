#include "power_recording.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <set>

#include "capture/write/capture_writer.hpp"
#include "capture/write/destination.hpp"
#include "support/memory_destination.hpp"

namespace kymo::test {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr TrackId queue_track{100};

double seconds(std::int64_t time_ns) {
  return static_cast<double>(time_ns) / 1e9;
}

/// Calls sample(time, time of the renewal before it, whether that one is new).
template <typename Sample>
void each_sample(const SamplingOptions& options, const Sample& sample) {
  std::mt19937_64 random(options.seed);
  const auto jitter = [&] {
    return options.jitter_ns == 0 ? 0
                                  : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(options.jitter_ns));
  };
  std::int64_t renewed = options.start_ns;
  std::int64_t last_renewed = std::numeric_limits<std::int64_t>::min();
  std::int64_t next_renewal = options.start_ns + options.renewal_ns + jitter();
  for (std::int64_t due = options.start_ns; due <= options.end_ns; due += options.period_ns) {
    const std::int64_t now = due + jitter();
    while (options.renewal_ns != 0 && next_renewal <= now) {
      renewed = next_renewal;
      next_renewal += options.renewal_ns + jitter();
    }
    if (options.renewal_ns == 0) {
      renewed = now;
    }
    sample(now, renewed, renewed != last_renewed);
    last_renewed = renewed;
  }
}

template <typename Value>
MetricSeries sample_values(const SamplingOptions& options, const Value& value) {
  MetricSeries series;
  each_sample(options, [&](std::int64_t now, std::int64_t renewed, bool is_new) {
    series.times_ns.push_back(now);
    series.values.push_back(value(renewed));
    series.flags.push_back(is_new ? std::uint8_t{0} : SampleRun::stale);
  });
  return series;
}

}  // namespace

double TruePower::watts(std::int64_t time_ns) const {
  const double t = seconds(time_ns);
  const double phase = t / square_s - std::floor(t / square_s);
  return constant + slope * t + swing * std::sin(2 * pi * swing_hz * t) + (phase >= 0.5 ? square : 0);
}

double TruePower::joules(std::int64_t time_ns) const {
  const double t = seconds(time_ns);
  const double periods = std::floor(t / square_s);
  const double on_s = periods * square_s / 2 + std::max(0.0, t - periods * square_s - square_s / 2);
  return constant * t + slope * t * t / 2 + swing * (1 - std::cos(2 * pi * swing_hz * t)) / (2 * pi * swing_hz) +
         square * on_s;
}

MetricSeries sample_power(const TruePower& power, const SamplingOptions& options) {
  return sample_values(options, [&](std::int64_t time) { return power.watts(time); });
}

MetricSeries sample_energy(const TruePower& power, const SamplingOptions& options) {
  return sample_values(options, [&](std::int64_t time) { return power.joules(time); });
}

MetricDeclaration energy_metric(std::string name, std::vector<std::pair<std::string, std::string>> labels) {
  MetricDeclaration metric;
  metric.kind = MetricKind::energy_counter;
  metric.name = std::move(name);
  metric.unit = "J";
  metric.labels = std::move(labels);
  return metric;
}

MetricDeclaration power_metric(std::string name, std::vector<std::pair<std::string, std::string>> labels) {
  MetricDeclaration metric;
  metric.name = std::move(name);
  metric.unit = "W";
  metric.labels = std::move(labels);
  return metric;
}

SiteId PowerRecording::site_of(const std::string& name) {
  const auto place = std::find(sites_.begin(), sites_.end(), name);
  const auto index = static_cast<std::size_t>(place - sites_.begin());
  if (place == sites_.end()) {
    sites_.push_back(name);
  }
  return SiteId::from_index(index);
}

void PowerRecording::open(std::int64_t time_ns, TrackId thread, const std::string& site) {
  threads_[thread].push_back({time_ns, site_of(site)});
}

void PowerRecording::close(std::int64_t time_ns, TrackId thread) {
  threads_[thread].push_back({time_ns, {}});
}

void PowerRecording::gpu_span(std::int64_t start_ns, std::int64_t end_ns, const std::string& name) {
  auto place = std::find(span_names_.begin(), span_names_.end(), name);
  SpanEvent span;
  span.track = queue_track;
  span.name = NameId::from_index(static_cast<std::size_t>(place - span_names_.begin()));
  span.start_ns = start_ns;
  span.duration_ns = end_ns - start_ns;
  if (place == span_names_.end()) {
    span_names_.push_back(name);
  }
  spans_.push_back(span);
}

void PowerRecording::metric(MetricDeclaration metric, const MetricSeries& series) {
  metric.id = MetricId::from_index(metrics_.size());
  metrics_.emplace_back(std::move(metric), series);
}

std::int64_t PowerRecording::last_ns() const {
  std::int64_t end_ns = 0;
  const auto see = [&end_ns](std::int64_t time_ns) { end_ns = std::max(end_ns, time_ns); };
  for (const auto& [track, events] : threads_) {
    see(events.back().time_ns);
  }
  for (const auto& [metric, series] : metrics_) {
    see(series.times_ns.empty() ? 0 : series.times_ns.back());
  }
  std::for_each(marks_.begin(), marks_.end(), see);
  std::for_each(syncs_.begin(), syncs_.end(), see);
  for (const SpanEvent& span : spans_) {
    see(span.start_ns + span.duration_ns);
  }
  return end_ns;
}

void PowerRecording::declare(Declarations& declarations) const {
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    SiteDeclaration site;
    site.id = SiteId::from_index(i);
    site.name = sites_[i];
    const bool is_run =
        std::any_of(fibers_.begin(), fibers_.end(), [&site](const auto& fiber) { return fiber.second == site.name; });
    site.role = is_run ? SiteRole::fiber_run : SiteRole::work;
    if (const auto holder = holders_.find(site.name); holder != holders_.end()) {
      site.name.resize(site.name.find('\n'));
      site.function = holder->second;
      site.role = SiteRole::wait;
    }
    declarations.sites.push_back(site);
  }
  for (std::size_t i = 0; i < span_names_.size(); ++i) {
    declarations.names.push_back({NameId::from_index(i), span_names_[i]});
  }
  for (const auto& [track, events] : threads_) {
    const auto fiber = fibers_.find(track);
    declarations.tracks.push_back({track, TrackKind::thread, ProcessId{1}, track.value(),
                                   fiber != fibers_.end() ? fiber->second : "thread",
                                   fiber != fibers_.end() ? TrackRole::fiber : TrackRole::plain});
  }
  for (const auto& [track, states] : states_) {
    declarations.threads.push_back({ThreadId{track.value()}, ProcessId{1}, 1, track.value(), "thread"});
  }
  declarations.tracks.push_back({queue_track, TrackKind::queue, ProcessId{1}, 0, "gpu"});
  for (const auto& [metric, series] : metrics_) {
    declarations.metrics.push_back(metric);
  }
  declarations.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
}

std::vector<std::byte> PowerRecording::make_capture(unsigned blocks, std::uint32_t seed) const {
  std::mt19937_64 random(seed);
  const std::int64_t end_ns = last_ns();

  auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriterOptions options;
  options.header.recorder = "made up";
  options.declarations.processes.push_back({ProcessId{1}, 1, "here", "boot", "", "program"});
  {
    capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(options));
    std::map<TrackId, std::size_t> done;
    std::map<TrackId, std::vector<OpenScope>> open;
    std::int64_t from_ns = std::numeric_limits<std::int64_t>::min();
    for (unsigned block = 1; block <= blocks; ++block) {
      const bool is_last = block == blocks;
      const std::int64_t until_ns = is_last ? std::numeric_limits<std::int64_t>::max() : end_ns / blocks * block;
      const auto is_inside = [&](std::int64_t time_ns) { return time_ns >= from_ns && time_ns < until_ns; };
      EventBatch batch;
      if (block == 1) {
        declare(batch.declarations);
      }
      bool is_first = true;
      const auto extend = [&](std::int64_t time_ns) {
        batch.start_ns = is_first ? time_ns : std::min(batch.start_ns, time_ns);
        batch.end_ns = is_first ? time_ns : std::max(batch.end_ns, time_ns);
        is_first = false;
      };
      extend(is_last ? end_ns : until_ns);
      for (const auto& [track, events] : threads_) {
        ScopeRun run;
        run.track = track;
        run.first_sequence = done[track];
        run.open_at_start = open[track];
        // A thread is drained up to some event before or after the block's time.
        const std::int64_t lag_ns =
            is_last || seed == 0
                ? 0
                : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end_ns / blocks + 1));
        for (; done[track] < events.size() && (is_last || events[done[track]].time_ns < until_ns - lag_ns);
             ++done[track]) {
          const Event& event = events[done[track]];
          auto& stack = open[track];
          const std::size_t depth = event.site ? stack.size() : stack.size() - 1;
          run.events.push_back({event.time_ns, event.site, static_cast<std::uint16_t>(depth), 0});
          if (event.site) {
            stack.push_back({event.time_ns, event.site});
          } else {
            stack.pop_back();
          }
          extend(event.time_ns);
        }
        run.end_sequence = done[track];
        if (!run.events.empty() || !run.open_at_start.empty()) {
          batch.runs.push_back(std::move(run));
        }
      }
      for (const auto& [track, states] : states_) {
        StateRun run{ThreadId{track.value()}, {}};
        std::copy_if(states.begin(), states.end(), std::back_inserter(run.states),
                     [&](const ThreadState& state) { return is_inside(state.end_ns()); });
        if (!run.states.empty()) {
          extend(run.states.front().start_ns);
          batch.states.push_back(std::move(run));
        }
      }
      for (const SpanEvent& span : spans_) {
        if (is_inside(span.start_ns + span.duration_ns)) {
          batch.spans.push_back(span);
          extend(span.start_ns);
        }
      }
      for (const std::int64_t mark : marks_) {
        if (is_inside(mark)) {
          batch.frame_marks.push_back(
              {FrameStreamId{1}, threads_.empty() ? queue_track : threads_.begin()->first, mark});
          extend(mark);
        }
      }
      for (const std::int64_t time_ns : breaks_) {
        if (is_inside(time_ns)) {
          batch.frame_marks.push_back({FrameStreamId{1}, {}, time_ns, true});
          extend(time_ns);
        }
      }
      for (std::size_t i = 0; i < syncs_.size(); ++i) {
        if (is_inside(syncs_[i])) {
          batch.sync_points.push_back({i + 1, threads_.empty() ? queue_track : threads_.begin()->first, syncs_[i]});
          extend(syncs_[i]);
        }
      }
      for (const auto& [metric, series] : metrics_) {
        SampleRun run;
        run.metric = metric.id;
        for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
          if (is_inside(series.times_ns[i])) {
            run.times_ns.push_back(series.times_ns[i]);
            run.values.push_back(series.values[i]);
            run.flags.push_back(i < series.flags.size() ? series.flags[i] : std::uint8_t{0});
            extend(series.times_ns[i]);
          }
        }
        if (!run.times_ns.empty()) {
          batch.samples.push_back(std::move(run));
        }
      }
      writer.write(batch);
      from_ns = until_ns;
    }
    writer.finish();
  }
  return *bytes;
}

Timeline PowerRecording::make_timeline(unsigned blocks, std::uint32_t seed) const {
  files_.push_back(make_capture(blocks, seed));
  std::vector<CaptureReader> readers;
  readers.emplace_back(files_.back().data(), files_.back().size(), "memory");
  return Timeline(std::move(readers));
}

// Between two neighbouring events of all threads nothing changes, so that the shares are constant.
std::map<std::string, PowerRecording::TrueJoules> PowerRecording::true_joules(const TruePower& power) const {
  std::set<std::int64_t> times;
  for (const auto& [track, events] : threads_) {
    for (const Event& event : events) {
      times.insert(event.time_ns);
    }
  }
  std::map<TrackId, std::vector<SiteId>> stacks;
  std::map<TrackId, std::size_t> done;
  std::map<std::string, TrueJoules> result;
  for (auto time = times.begin(); time != times.end(); ++time) {
    std::size_t sharers = 0;
    for (const auto& [track, events] : threads_) {
      auto& stack = stacks[track];
      for (; done[track] < events.size() && events[done[track]].time_ns == *time; ++done[track]) {
        if (events[done[track]].site) {
          stack.push_back(events[done[track]].site);
        } else {
          stack.pop_back();
        }
      }
      sharers += stack.empty() ? 0U : 1U;
    }
    if (std::next(time) == times.end()) {
      break;
    }
    for (const auto& [track, stack] : stacks) {
      if (stack.empty()) {
        continue;
      }
      const double share = power.between(*time, *std::next(time)) / static_cast<double>(sharers);
      for (const SiteId site : std::set<SiteId>(stack.begin(), stack.end())) {
        result[sites_[site.index()]].inclusive += share;
      }
      result[sites_[stack.back().index()]].self += share;
    }
  }
  return result;
}

}  // namespace kymo::test
