#include "capture/sample_batches.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/order.hpp"

namespace kymo::test {

std::uint64_t BatchSource::number() {
  // All magnitudes alike, and the extremes now and then.
  switch (random_() % 8) {
    case 0:
      return 0;
    case 1:
      return UINT64_MAX;
    default:
      return random_() >> (random_() % 64);
  }
}

std::string BatchSource::text() {
  std::string result(below(8) == 0 ? below(1000) : below(12), ' ');
  for (char& character : result) {
    character = static_cast<char>(ascii_only_ ? ' ' + random_() % 95 : random_());
  }
  return result;
}

ArgumentValue BatchSource::argument(std::string& batch_text) {
  ArgumentValue value;
  value.name = id();
  value.type = static_cast<ArgumentType>(below(5));
  value.is_cut = coin();
  if (value.type == ArgumentType::string) {
    const std::string added = text();
    value.bits = batch_text.size();
    value.text_size = static_cast<std::uint32_t>(added.size());
    batch_text += added;
  } else {
    value.bits = value.type == ArgumentType::boolean ? number() & 1U : number();
  }
  return value;
}

ScopeRun BatchSource::wild_run(std::size_t rows, std::string& batch_text) {
  ScopeRun run;
  run.track = id();
  run.first_sequence = number();
  run.end_sequence = number();
  run.dropped_scopes = number();
  run.dropped_others = number();
  for (std::size_t i = below(4); i > 0; --i) {
    run.open_at_start.push_back({time(), id()});
  }
  for (std::size_t i = below(rows + 1); i > 0; --i) {
    run.events.push_back({time(), coin() ? SiteId{id()} : SiteId{}, static_cast<std::uint16_t>(number()),
                          static_cast<std::uint16_t>(coin() ? 0 : number())});
  }
  for (std::size_t i = below(rows + 1), position = 0; i > 0; --i) {
    position = std::min(position + below(3), run.events.size());
    run.arguments.push_back({static_cast<std::uint32_t>(position), argument(batch_text)});
  }
  return run;
}

EventBatch BatchSource::wild(std::size_t rows) {
  EventBatch batch;
  batch.start_ns = time();
  batch.end_ns = time();
  const auto count = [&] { return below(4) == 0 ? 0 : below(rows + 1); };
  for (std::size_t i = below(4); i > 0; --i) {
    batch.runs.push_back(wild_run(rows, batch.text));
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.span_arguments.push_back(argument(batch.text));
  }
  for (std::size_t i = count(); i > 0; --i) {
    const std::size_t first = below(batch.span_arguments.size() + 1);
    const std::size_t arguments = below(batch.span_arguments.size() - first + 1);
    batch.spans.push_back({id(), id(), id(), static_cast<std::uint32_t>(arguments), static_cast<std::uint32_t>(first),
                           time(), time(), number()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.async_begins.push_back({id(), id(), time(), number()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.frame_marks.push_back({id(), id(), time()});
  }
  for (std::size_t k = below(4); k > 0; --k) {
    SampleRun run;
    run.metric = id();
    const bool shares_times = !batch.samples.empty() && coin();
    const bool has_flags = coin();
    const std::uint64_t form = below(3);
    for (std::size_t i = shares_times ? batch.samples.back().times_ns.size() : count(); i > 0; --i) {
      run.times_ns.push_back(shares_times ? batch.samples.back().times_ns[run.times_ns.size()] : time());
      if (has_flags) {
        run.flags.push_back(coin() ? SampleRun::stale : 0);
      }
      const std::uint64_t bits = number();
      double value = static_cast<double>(static_cast<std::int32_t>(bits));
      if (form == 1) {
        value = static_cast<double>(static_cast<std::int32_t>(bits % 200'001) - 100'000) / 100;
      } else if (form == 2) {
        std::memcpy(&value, &bits, sizeof value);
      }
      run.values.push_back(value);
    }
    batch.samples.push_back(std::move(run));
  }
  for (std::size_t k = below(4); k > 0; --k) {
    StateRun run;
    run.thread = id();
    for (std::size_t i = count(); i > 0; --i) {
      const std::int64_t start_ns = time() / 4;
      const auto duration_ns = static_cast<std::int64_t>(number() >> 2U);
      run.states.push_back({start_ns, duration_ns, id(), static_cast<RunState>(below(3))});
    }
    batch.states.push_back(std::move(run));
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.wakes.push_back({id(), id(), time()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.stack_samples.push_back({id(), id(), id(), time(), coin() ? time() : 0, coin() ? time() : 0, id()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.messages.push_back({id(), coin(), time(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.flows.push_back({id(), static_cast<FlowPhase>(below(3)), time(), number()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.sync_points.push_back({number(), id(), time()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.track_ends.push_back({id(), time()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.clock_anchors.push_back({time(), time(), time()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    batch.clock_uncertainties.push_back({time(), time(), time()});
  }
  base::put_in_time_order(batch);
  return batch;
}

Declarations BatchSource::wild_declarations(std::size_t rows) {
  Declarations all;
  const auto count = [&] { return below(rows + 1); };
  for (std::size_t i = count(); i > 0; --i) {
    all.processes.push_back({id(), number(), text(), text(), text(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.infos.push_back({id(), text(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.names.push_back({id(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.modules.push_back({id(), id(), number(), number(), text(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.sites.push_back({id(), static_cast<SiteKind>(below(4)), id(), id(), text(), text(), text(), id(), number(),
                         static_cast<SiteRole>(below(3))});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.tracks.push_back(
        {id(), static_cast<TrackKind>(below(3)), id(), number(), text(), static_cast<TrackRole>(below(3))});
  }
  for (std::size_t i = count(); i > 0; --i) {
    MetricDeclaration metric{id(), static_cast<MetricKind>(below(3)), id(), text(), text(), text(), {}};
    metric.step = static_cast<double>(below(1000)) / 8;
    metric.renewal_ns = static_cast<std::int64_t>(below(1'000'000'000));
    metric.window_ns = static_cast<std::int64_t>(below(1'000'000'000));
    metric.traits = static_cast<std::uint32_t>(below(8));
    for (std::size_t k = below(3); k > 0; --k) {
      metric.labels.emplace_back(text(), text());
    }
    all.metrics.push_back(std::move(metric));
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.frame_streams.push_back({id(), id(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.threads.push_back({id(), id(), number(), number(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.functions.push_back({id(), id(), number(), text(), text()});
  }
  for (std::size_t i = count(); i > 0; --i) {
    all.stacks.push_back({id(), id(), id(), static_cast<std::uint32_t>(number())});
  }
  return all;
}

EventBatch BatchSource::ordinary(std::size_t scope_events) {
  constexpr std::size_t sites = 5;
  EventBatch batch;
  if (sequence_ == 0) {
    for (std::size_t site = 1; site <= sites; ++site) {
      SiteDeclaration declaration;
      declaration.id = SiteId{static_cast<std::uint32_t>(site)};
      declaration.name = "site " + std::to_string(site);
      batch.declarations.sites.push_back(declaration);
    }
    TrackDeclaration track;
    track.id = TrackId{1};
    track.name = "main";
    batch.declarations.tracks.push_back(track);
    MetricDeclaration metric;
    metric.id = MetricId{1};
    metric.name = "loss";
    batch.declarations.metrics.push_back(metric);
    batch.declarations.names.push_back({NameId{1}, "size"});
  }
  batch.start_ns = now_ns_;
  ScopeRun run;
  run.track = TrackId{1};
  run.first_sequence = sequence_;
  run.open_at_start = stack_;
  for (std::size_t i = 0; i < scope_events; ++i) {
    now_ns_ += static_cast<std::int64_t>(1 + below(2000));
    if (stack_.empty() || (stack_.size() < 5 && coin())) {
      const auto site = SiteId{static_cast<std::uint32_t>(1 + below(sites))};
      run.events.push_back({now_ns_, site, static_cast<std::uint16_t>(stack_.size()), 0});
      stack_.push_back({now_ns_, site});
      if (below(4) == 0) {
        run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()), argument(batch.text)});
        ArgumentValue& value = run.arguments.back().value;
        value.name = NameId{1};
        if (value.type == ArgumentType::float64) {
          const double finite = static_cast<double>(below(1000)) / 7;
          std::memcpy(&value.bits, &finite, sizeof finite);
        }
      }
    } else {
      stack_.pop_back();
      run.events.push_back({now_ns_, {}, static_cast<std::uint16_t>(stack_.size()), 0});
    }
  }
  sequence_ += scope_events + 1;
  run.end_sequence = sequence_;
  batch.runs.push_back(std::move(run));
  batch.samples.push_back({MetricId{1}, {batch.start_ns, now_ns_}, {0.5, static_cast<double>(below(100))}, {}});
  batch.messages.push_back({TrackId{1}, false, now_ns_, "so far " + std::to_string(sequence_)});
  batch.clock_anchors.push_back({batch.start_ns, batch.start_ns + 1'700'000'000'000'000'000, 50});
  batch.end_ns = now_ns_;
  return batch;
}

namespace {

class Text {
 public:
  void section(const char* name, std::size_t rows) { out_ << '\n' << name << ' ' << rows << ':'; }
  template <typename Value>
  Text& add(Value value) {
    out_ << ' ' << +value;
    return *this;
  }
  template <IdKind kind>
  Text& add(Id<kind> id) {
    return add(id.value());
  }
  Text& add(const std::string& text) {
    out_ << " '" << text.size() << ':' << text << '\'';
    return *this;
  }
  Text& add(const ArgumentValue& value) {
    add(value.name).add(static_cast<int>(value.type)).add(value.is_cut).add(value.text_size).add(value.bits);
    return *this;
  }
  [[nodiscard]] std::string str() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

std::uint64_t pattern(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

std::string describe(const Declarations& all) {
  Text text;
  text.section("processes", all.processes.size());
  for (const auto& row : all.processes) {
    text.add(row.id).add(row.pid).add(row.host).add(row.boot_id).add(row.rank).add(row.command_line);
  }
  text.section("infos", all.infos.size());
  for (const auto& row : all.infos) {
    text.add(row.process).add(row.key).add(row.value);
  }
  text.section("names", all.names.size());
  for (const auto& row : all.names) {
    text.add(row.id).add(row.text);
  }
  text.section("modules", all.modules.size());
  for (const auto& row : all.modules) {
    text.add(row.id).add(row.process).add(row.load_base).add(row.size).add(row.path).add(row.build_id);
  }
  text.section("sites", all.sites.size());
  for (const auto& row : all.sites) {
    text.add(row.id).add(static_cast<int>(row.kind)).add(row.process).add(row.line).add(row.name).add(row.function);
    text.add(row.file).add(row.module).add(row.module_offset).add(static_cast<int>(row.role));
  }
  text.section("tracks", all.tracks.size());
  for (const auto& row : all.tracks) {
    text.add(row.id).add(static_cast<int>(row.kind)).add(row.process).add(row.os_thread_id).add(row.name);
    text.add(static_cast<int>(row.role));
  }
  text.section("metrics", all.metrics.size());
  for (const auto& row : all.metrics) {
    text.add(row.id).add(static_cast<int>(row.kind)).add(row.process).add(row.name).add(row.unit).add(row.source);
    text.add(pattern(row.step)).add(row.renewal_ns).add(row.window_ns).add(row.traits);
    for (const auto& [key, value] : row.labels) {
      text.add(key).add(value);
    }
  }
  text.section("frame streams", all.frame_streams.size());
  for (const auto& row : all.frame_streams) {
    text.add(row.id).add(row.process).add(row.name);
  }
  text.section("threads", all.threads.size());
  for (const auto& row : all.threads) {
    text.add(row.id).add(row.process).add(row.pid).add(row.os_thread_id).add(row.name);
  }
  text.section("functions", all.functions.size());
  for (const auto& row : all.functions) {
    text.add(row.id).add(row.module).add(row.module_offset).add(row.name);
  }
  text.section("stacks", all.stacks.size());
  for (const auto& row : all.stacks) {
    text.add(row.id).add(row.caller).add(row.function);
  }
  return text.str();
}

std::string describe(const EventBatch& batch) {
  Text text;
  text.add(batch.start_ns).add(batch.end_ns).add(batch.text);
  for (const ScopeRun& run : batch.runs) {
    text.section("run", run.events.size());
    text.add(run.track).add(run.first_sequence).add(run.end_sequence).add(run.dropped_scopes).add(run.dropped_others);
    text.section("open", run.open_at_start.size());
    for (const auto& row : run.open_at_start) {
      text.add(row.start_ns).add(row.site);
    }
    text.section("events", run.events.size());
    for (const auto& row : run.events) {
      text.add(row.time_ns).add(row.site).add(row.depth).add(row.flags);
    }
    text.section("arguments", run.arguments.size());
    for (const auto& row : run.arguments) {
      text.add(row.position).add(row.value);
    }
  }
  text.section("spans", batch.spans.size());
  for (const auto& row : batch.spans) {
    text.add(row.track).add(row.name).add(row.category).add(row.argument_count).add(row.first_argument);
    text.add(row.start_ns).add(row.duration_ns).add(row.async_id);
  }
  text.section("span arguments", batch.span_arguments.size());
  for (const auto& row : batch.span_arguments) {
    text.add(row);
  }
  text.section("async begins", batch.async_begins.size());
  for (const auto& row : batch.async_begins) {
    text.add(row.track).add(row.name).add(row.time_ns).add(row.async_id);
  }
  text.section("frame marks", batch.frame_marks.size());
  for (const auto& row : batch.frame_marks) {
    text.add(row.stream).add(row.track).add(row.time_ns);
  }
  for (const SampleRun& run : batch.samples) {
    text.section("samples", run.times_ns.size());
    text.add(run.metric);
    for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
      text.add(run.times_ns[i]).add(pattern(run.values[i])).add(i < run.flags.size() ? int{run.flags[i]} : 0);
    }
  }
  for (const StateRun& run : batch.states) {
    text.section("states", run.states.size());
    text.add(run.thread);
    for (const auto& row : run.states) {
      text.add(row.start_ns).add(row.duration_ns).add(row.cpu).add(static_cast<int>(row.state));
    }
  }
  text.section("wakes", batch.wakes.size());
  for (const auto& row : batch.wakes) {
    text.add(row.thread).add(row.waker).add(row.time_ns);
  }
  text.section("stack samples", batch.stack_samples.size());
  for (const auto& row : batch.stack_samples) {
    text.add(row.thread)
        .add(row.stack)
        .add(row.cpu)
        .add(row.time_ns)
        .add(row.blocked_ns)
        .add(row.unsampled_ns)
        .add(row.sampled_waits);
  }
  text.section("messages", batch.messages.size());
  for (const auto& row : batch.messages) {
    text.add(row.track).add(row.is_cut).add(row.time_ns).add(row.text);
  }
  text.section("flows", batch.flows.size());
  for (const auto& row : batch.flows) {
    text.add(row.track).add(static_cast<int>(row.phase)).add(row.time_ns).add(row.flow_id);
  }
  text.section("sync points", batch.sync_points.size());
  for (const auto& row : batch.sync_points) {
    text.add(row.number).add(row.track).add(row.time_ns);
  }
  text.section("track ends", batch.track_ends.size());
  for (const auto& row : batch.track_ends) {
    text.add(row.track).add(row.time_ns);
  }
  text.section("clock anchors", batch.clock_anchors.size());
  for (const auto& row : batch.clock_anchors) {
    text.add(row.monotonic_ns).add(row.realtime_ns).add(row.bound_ns);
  }
  text.section("clock uncertainties", batch.clock_uncertainties.size());
  for (const auto& row : batch.clock_uncertainties) {
    text.add(row.start_ns).add(row.end_ns).add(row.bound_ns);
  }
  return text.str();
}

}  // namespace kymo::test
