#include "stats/compare/side_samples.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <kymo/thread_states.hpp>

#include "base/text/metric_name.hpp"
#include "capture/merge/id_translation.hpp"
#include "capture/summary/frame_walk.hpp"
#include "capture/summary/keyed_table.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "stats/common/reservoir.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

using timeline::Source;

std::size_t ThingSamples::kept() const {
  std::size_t kept = 0;
  for (const std::vector<double>& run : runs) {
    kept += run.size();
  }
  return kept;
}

std::vector<double> ThingSamples::pooled() const {
  std::vector<double> all;
  all.reserve(kept());
  for (const std::vector<double>& run : runs) {
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), run.begin(), run.end());
    std::inplace_merge(all.begin(), all.begin() + middle, all.end());
  }
  return all;
}

namespace {

/// FNV-1a.
std::uint64_t hash_of(const ThingName& name) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ static_cast<std::uint64_t>(name.kind);
  for (const std::string* const text : {&name.name, &name.function, &name.file, &name.labels, &name.unit}) {
    for (const char character : *text) {
      hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3U;
    }
    hash = (hash ^ 0xFFU) * 0x100000001B3U;
  }
  return hash;
}

/// Finite, and small enough for the sum of a million.
bool can_be_added_up(double value) {
  return std::fabs(value) <= 1e300;
}

/// "J" per second is watts.
std::string rate_of(const MetricDeclaration& metric) {
  if (metric.unit == "J") {
    return "W";
  }
  return (metric.unit.empty() ? "1" : metric.unit) + "/s";
}

ThingName name_of(const MetricDeclaration& metric) {
  // A GPU is compared with the one of its number in another machine: its uuid is no part of the text.
  const std::string labels = base::labels_text(metric);
  ThingName name{ThingKind::metric, metric.name, {}, {}, labels.empty() ? labels : labels.substr(1), metric.unit};
  if (metric.kind != MetricKind::gauge) {
    name.unit = rate_of(metric);
  }
  return name;
}

/// The kernel numbers threads anew in each run, so that such a metric has no like on the other side.
bool is_of_one_thread(const MetricDeclaration& metric) {
  return !metric.source.empty() && std::any_of(metric.labels.begin(), metric.labels.end(),
                                               [](const auto& label) { return label.first == "thread"; });
}

/// One run.
class RunSamples {
 public:
  struct Entry {
    Reservoir values;
    std::uint32_t line = 0;
  };

  RunSamples(const Timeline& timeline, RandomSource random, std::size_t kept)
      : timeline_(timeline), states_(timeline), seed_(random.bits()), kept_(kept) {}

  void take(const std::function<void(double)>& on_progress) {
    const auto sources = timeline::sources_of(timeline_);
    std::size_t blocks = 0;
    std::size_t done = 0;
    for (const auto& source : sources) {
      blocks += source->block_count();
    }
    EventBatch batch;
    for (const auto& source : sources) {
      sites_.clear();
      spans_.clear();
      streams_.clear();
      metrics_.clear();
      stacks_.clear();
      for (std::size_t block = 0; block < source->block_count(); ++block) {
        if (source->read_own(block, BatchParts::everything, batch)) {
          take(*source, batch);
        }
        ++done;
        if (on_progress) {
          on_progress(static_cast<double>(done) / static_cast<double>(blocks));
        }
      }
    }
  }

  [[nodiscard]] std::map<ThingName, Entry>& things() { return things_; }

 private:
  template <typename AnyId>
  struct Place {
    AnyId id;
    Reservoir* values = nullptr;
    Reservoir* cpu_times = nullptr;  // sites
  };
  struct Stream {
    FrameStreamId id;
    Reservoir* values = nullptr;
    capture::FrameWalk walk;
  };
  struct Metric {
    MetricId id;
    Reservoir* values = nullptr;
    bool is_counter = false;
    bool is_left_out = false;
    bool has_last = false;
    std::int64_t last_ns = 0;
    double last = 0;
  };

  Reservoir& values_of(ThingName name, std::uint32_t line = 0) {
    const auto found = things_.find(name);
    if (found != things_.end()) {
      return found->second.values;
    }
    const RandomSource random(seed_, hash_of(name));
    return things_.emplace(std::move(name), Entry{Reservoir(kept_, random), line}).first->second.values;
  }

  Reservoir& values_of_site(const Source& source, SiteId own, ThingKind kind) {
    const SiteDeclaration& site = timeline_.site(source.find(own));
    return values_of({kind, site.name, site.function, site.file.substr(site.file.find_last_of("/\\") + 1), {}, "ns"},
                     site.line);
  }

  void take(const Source& source, const EventBatch& batch) {
    const bool has_states = !states_.empty();
    for (const ScopeRun& run : batch.runs) {
      const TrackId track = source.find(run.track);
      const auto add = [&](const capture::ScopeSpan& span) {
        Place<SiteId>& place = sites_[span.site];
        if (place.values == nullptr) {
          place.values = &values_of_site(source, span.site, ThingKind::site);
        }
        place.values->add(static_cast<double>(span.duration_ns));
        if (has_states) {
          take_cpu_time(source, track, span, place);
        }
      };
      capture::match(run, stacks_[run.track], add, batch.start_ns);
    }
    for (const SpanEvent& span : batch.spans) {
      Place<NameId>& place = spans_[span.name];
      if (place.values == nullptr) {
        const std::string name(timeline_.name(source.find(span.name)));
        place.values = &values_of({ThingKind::span, name, {}, {}, {}, "ns"});
      }
      place.values->add(static_cast<double>(std::max<std::int64_t>(span.duration_ns, 0)));
    }
    take_frames(source, batch);
    for (const SampleRun& run : batch.samples) {
      take_samples(source, run);
    }
  }

  void take_cpu_time(const Source& source, TrackId track, const capture::ScopeSpan& span, Place<SiteId>& place) {
    const std::int64_t start_ns = capture::add_times(span.start_ns, source.shift().offset_ns);
    const auto times = states_.times(track, {start_ns, capture::add_times(start_ns, span.duration_ns)});
    if (!times) {
      return;
    }
    if (place.cpu_times == nullptr) {
      place.cpu_times = &values_of_site(source, span.site, ThingKind::cpu_time);
    }
    place.cpu_times->add(static_cast<double>(times->running_ns));
  }

  void take_frames(const Source& source, const EventBatch& batch) {
    for (const FrameMark& mark : batch.frame_marks) {
      Stream& stream = streams_[mark.stream];
      const bool ends_frame = stream.walk.take(mark);
      if (stream.values == nullptr && !mark.is_break) {
        const std::string& name = timeline_.frame_stream(source.find(mark.stream)).name;
        stream.values = &values_of({ThingKind::frames, name, {}, {}, {}, "ns"});
      }
      if (ends_frame) {
        stream.values->add(static_cast<double>(stream.walk.duration_ns()));
      }
    }
  }

  void take_samples(const Source& source, const SampleRun& run) {
    Metric& metric = metrics_[run.metric];
    if (metric.is_left_out) {
      return;
    }
    if (metric.values == nullptr) {
      const MetricDeclaration& declared = timeline_.metric(source.find(run.metric));
      if (is_of_one_thread(declared)) {
        metric.is_left_out = true;
        return;
      }
      metric.is_counter = declared.kind != MetricKind::gauge;
      metric.values = &values_of(name_of(declared));
    }
    const std::size_t count = std::min(run.times_ns.size(), run.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_stale = i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0;
      if (is_stale || !can_be_added_up(run.values[i])) {
        continue;
      }
      if (!metric.is_counter) {
        metric.values->add(run.values[i]);
        continue;
      }
      const double elapsed_s = (static_cast<double>(run.times_ns[i]) - static_cast<double>(metric.last_ns)) / 1e9;
      if (metric.has_last && elapsed_s > 0 && run.values[i] >= metric.last) {
        const double rate = (run.values[i] - metric.last) / elapsed_s;
        if (can_be_added_up(rate)) {
          metric.values->add(rate);
        }
      }
      // Of several threads' samples some are a block late.
      if (!metric.has_last || elapsed_s >= 0) {
        metric.has_last = true;
        metric.last_ns = run.times_ns[i];
        metric.last = run.values[i];
      }
    }
  }

  const Timeline& timeline_;
  ThreadStates states_;
  std::uint64_t seed_;
  std::size_t kept_;
  std::map<ThingName, Entry> things_;
  capture::KeyedTable<Place<SiteId>> sites_;  // this and the following: by the ids of the current capture
  capture::KeyedTable<Place<NameId>> spans_;
  capture::KeyedTable<Stream> streams_;
  capture::KeyedTable<Metric> metrics_;
  std::unordered_map<TrackId, capture::ScopeStack> stacks_;
};

}  // namespace

void SideSamples::add_run(const Timeline& timeline, const std::function<void(double)>& on_progress) {
  RunSamples run(timeline, RandomSource(seed_, side_ << 32U | run_count_), kept_a_run_);
  run.take(on_progress);
  std::map<ThingName, RunValues> things;
  for (auto& [name, entry] : run.things()) {
    const std::uint64_t count = entry.values.count();
    things.emplace(name, RunValues{entry.values.release(), count, entry.line});
  }
  add_run(std::move(things));
}

void SideSamples::add_run(std::map<ThingName, RunValues> things) {
  for (auto& [name, values] : things) {
    if (values.kept.empty()) {
      continue;
    }
    ThingSamples& thing = things_[name];
    std::sort(values.kept.begin(), values.kept.end());
    thing.runs.push_back(std::move(values.kept));
    thing.run_numbers.push_back(run_count_);
    thing.count += values.count;
    thing.line = values.line;
  }
  ++run_count_;
}

}  // namespace kymo::stats
