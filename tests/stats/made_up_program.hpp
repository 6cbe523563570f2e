// A made-up program with a time of its own, recorded as kymo would: threads with scopes, locks, flows, queues, run
// states.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/write/capture_writer.hpp"

namespace kymo::test {

/// Times are nanoseconds. Each thread has its own clock, which the calls move.
class MadeUpProgram {
 public:
  explicit MadeUpProgram(const std::string& path, bool has_states = false, std::uint64_t pid = 1,
                         const std::string& rank = {})
      : writer_(path, options(pid, rank)), has_states_(has_states), pid_(pid) {}

  /// A thread at time 0.
  TrackId thread(const std::string& name) {
    const TrackId track = declare(name, TrackKind::thread, TrackRole::plain);
    Thread& one = threads_[track];
    one.run.track = track;
    if (has_states_) {
      one.state_run.thread = observed(name, pid_);
    }
    return track;
  }
  /// The kernel's name of a thread, where the program's is another.
  void name_for_kernel(TrackId track, const std::string& name) {
    for (ThreadDeclaration& thread : pending_.threads) {
      thread.name = thread.id == threads_[track].state_run.thread ? name : thread.name;
    }
  }
  /// A thread at time 0 that is observed only, since it has no scopes. Its id is no track's.
  TrackId thread_without_scopes(const std::string& name, std::uint64_t pid = 1) {
    const TrackId key{1'000'000U + static_cast<std::uint32_t>(observed_.size())};
    threads_[key].state_run.thread = observed(name, pid);
    return key;
  }
  /// A thread of another program, which is observed only.
  ThreadId observed(const std::string& name, std::uint64_t pid) {
    const auto number = static_cast<std::uint32_t>(observed_.size() + 1);
    observed_.push_back({ThreadId{number}, ProcessId{1}, pid, 100 + std::uint64_t{number}, name});
    pending_.threads.push_back(observed_.back());
    return observed_.back().id;
  }
  /// The kernel's word that a thread ended the wait of another. Both have states.
  void wake(TrackId woken, ThreadId waker, std::int64_t time_ns) {
    batch_.wakes.push_back({threads_[woken].state_run.thread, waker, time_ns});
  }
  [[nodiscard]] ThreadId thread_of(TrackId track) { return threads_[track].state_run.thread; }
  TrackId queue(const std::string& name) { return declare(name, TrackKind::queue, TrackRole::plain); }

  [[nodiscard]] std::int64_t now(TrackId track) { return threads_[track].now_ns; }

  void open(TrackId track, const std::string& site) { open(track, site_of(site, {}, SiteRole::work)); }
  void close(TrackId track) {
    Thread& thread = threads_[track];
    thread.open.pop_back();
    event(thread, {thread.now_ns, {}, static_cast<std::uint16_t>(thread.open.size()), 0});
  }
  void argument(TrackId track, const std::string& name, std::int64_t value) {
    ArgumentValue argument;
    argument.bits = static_cast<std::uint64_t>(value);
    add_argument(track, name, argument);
  }
  void argument(TrackId track, const std::string& name, const std::string& text) {
    ArgumentValue argument;
    argument.type = ArgumentType::string;
    argument.bits = batch_.text.size();
    argument.text_size = static_cast<std::uint32_t>(text.size());
    batch_.text += text;
    add_argument(track, name, argument);
  }
  void argument(TrackId track, const std::string& name, bool value) {
    ArgumentValue argument;
    argument.type = ArgumentType::boolean;
    argument.bits = value ? 1 : 0;
    add_argument(track, name, argument);
  }
  /// kymo had no room for so many scopes.
  void drop_scopes(TrackId track, std::uint64_t count) { threads_[track].run.dropped_scopes += count; }
  /// Where the thread runs from now on; 0 at first.
  void move(TrackId track, std::uint32_t cpu) { threads_[track].cpu = cpu; }
  void run(TrackId track, std::int64_t duration_ns) { spend(track, duration_ns, RunState::running); }
  void push_off(TrackId track, std::int64_t duration_ns) { spend(track, duration_ns, RunState::runnable); }
  void block(TrackId track, std::int64_t duration_ns) { spend(track, duration_ns, RunState::blocked); }
  /// Nothing is known of the thread meanwhile.
  void skip(TrackId track, std::int64_t duration_ns) { threads_[track].now_ns += duration_ns; }
  /// From here on, stacks are sampled so often in a second of a thread's CPU time, and at the end of each wait.
  void sample_stacks(std::uint32_t hz) {
    sample_ns_ = 1'000'000'000 / hz;
    fact("stacks.hz", std::to_string(hz));
  }
  void fact(const std::string& key, const std::string& value) { pending_.infos.push_back({ProcessId{1}, key, value}); }
  /// Where the thread is from here on, the outermost function first: "draw@/opt/program", with its source
  /// "draw@/opt/program@src/draw.cpp:12", "[kernel]".
  void in_functions(TrackId track, const std::vector<std::string>& functions) {
    StackId stack;
    for (const std::string& function : functions) {
      const bool has_source = function.find('@') != function.rfind('@');
      const std::size_t end = has_source ? function.rfind(':') : function.size();
      stack = stack_of(stack, function_of(function.substr(0, end)),
                       has_source ? static_cast<std::uint32_t>(std::stoul(function.substr(end + 1))) : 0);
    }
    threads_[track].stack = stack;
  }
  /// Runs without being sampled, as in a kernel that hides itself.
  void run_unsampled(TrackId track, std::int64_t duration_ns) {
    const std::int64_t sample_ns = std::exchange(sample_ns_, 0);
    run(track, duration_ns);
    sample_ns_ = sample_ns;
  }
  /// An observed thread runs on the CPU of the others.
  void run_observed(ThreadId thread, std::int64_t start_ns, std::int64_t duration_ns) {
    others_[thread].push_back({start_ns, duration_ns, 0, RunState::running});
  }
  void scope(TrackId track, const std::string& site, std::int64_t duration_ns) {
    open(track, site);
    run(track, duration_ns);
    close(track);
  }
  /// Nothing until a time, if that is to come.
  void idle_until(TrackId track, std::int64_t time_ns) {
    block(track, std::max<std::int64_t>(time_ns - now(track), 0));
  }

  /// Waits in a scope of a lock's waits until a time.
  void wait_for_lock(TrackId track, const std::string& lock, const std::string& holder, std::int64_t until_ns) {
    if (until_ns <= now(track)) {
      return;
    }
    open(track, site_of("wait for " + lock, holder, SiteRole::wait));
    idle_until(track, until_ns);
    close(track);
  }
  void hold(const std::string& lock, const std::string& holder, std::int64_t start_ns, std::int64_t end_ns) {
    SpanEvent span;
    span.track =
        locks_.count(lock) != 0 ? locks_[lock] : locks_[lock] = declare(lock, TrackKind::async, TrackRole::lock);
    span.name = name_of("hold " + lock);
    span.category = name_of(holder);
    span.start_ns = start_ns;
    span.duration_ns = end_ns - start_ns;
    batch_.spans.push_back(span);
  }
  void work(TrackId queue, const std::string& name, std::int64_t start_ns, std::int64_t end_ns) {
    SpanEvent span;
    span.track = queue;
    span.name = name_of(name);
    span.start_ns = start_ns;
    span.duration_ns = end_ns - start_ns;
    batch_.spans.push_back(span);
  }
  /// The same, handed in by a thread, with a flow as GPU scopes have it.
  void hand_in(TrackId thread, TrackId queue, const std::string& name, std::int64_t start_ns, std::int64_t end_ns) {
    work(queue, name, start_ns, end_ns);
    flow(thread, ++handed_in_, FlowPhase::begin);
    batch_.flows.push_back({queue, FlowPhase::end, start_ns, handed_in_});
  }
  void flow(TrackId track, std::uint64_t id, FlowPhase phase) {
    batch_.flows.push_back({track, phase, now(track), id});
  }
  void sample(const std::string& metric, const std::string& unit, std::int64_t time_ns, double value) {
    MetricDeclaration declared;
    declared.name = metric;
    declared.unit = unit;
    sample(declared, time_ns, value);
  }
  /// The same of a metric with labels, which tell it from others of its name.
  void sample(MetricDeclaration metric, std::int64_t time_ns, double value) {
    batch_.samples.push_back({metric_of(std::move(metric)), {time_ns}, {value}, {}});
  }
  void frame(TrackId track) {
    batch_.frame_marks.push_back({FrameStreamId{1}, track, now(track)});
    if (++frames_ % 16 == 0) {
      flush();
    }
  }

  void finish() {
    flush();
    writer_.finish();
  }

 private:
  struct Thread {
    std::int64_t now_ns = 0;
    std::uint32_t cpu = 0;
    std::vector<OpenScope> open;
    ScopeRun run;
    StateRun state_run;
    StackId stack;
    std::int64_t unsampled_ns = 0;  // CPU time since the last sample
  };

  static capture::CaptureWriterOptions options(std::uint64_t pid, const std::string& rank) {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, pid, "host", "boot", rank, "program"});
    options.declarations.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
    return options;
  }

  TrackId declare(const std::string& name, TrackKind kind, TrackRole role) {
    TrackDeclaration track;
    track.id = TrackId{++tracks_};
    track.kind = kind;
    track.name = name;
    track.role = role;
    track.os_thread_id = kind == TrackKind::thread ? 101 + observed_.size() : 0;
    pending_.tracks.push_back(track);
    return track.id;
  }
  SiteId site_of(const std::string& name, const std::string& holder, SiteRole role) {
    SiteId& id = sites_[{name, holder}];
    if (!id) {
      id = SiteId{static_cast<std::uint32_t>(sites_.size())};
      SiteDeclaration site;
      site.id = id;
      site.name = name;
      site.function = holder;
      site.file = "src/game.cpp";
      site.line = 72;
      site.role = role;
      pending_.sites.push_back(site);
    }
    return id;
  }
  NameId name_of(const std::string& name) {
    NameId& id = names_[name];
    if (!id) {
      id = NameId{static_cast<std::uint32_t>(names_.size())};
      pending_.names.push_back({id, name});
    }
    return id;
  }
  FunctionId function_of(const std::string& text) {
    FunctionId& id = functions_[text];
    if (!id) {
      id = FunctionId{static_cast<std::uint32_t>(functions_.size())};
      const std::size_t at = text.find('@');
      FunctionDeclaration function;
      function.id = id;
      function.name = text.substr(0, at);
      if (at != std::string::npos) {
        const std::size_t source = std::min(text.find('@', at + 1), text.size());
        function.module = module_of(text.substr(at + 1, source - at - 1));
        function.file = text.substr(std::min(source + 1, text.size()));
      }
      pending_.functions.push_back(function);
    }
    return id;
  }
  ModuleId module_of(const std::string& path) {
    ModuleId& id = modules_[path];
    if (!id) {
      id = ModuleId{static_cast<std::uint32_t>(modules_.size())};
      ModuleDeclaration module;
      module.id = id;
      module.path = path;
      pending_.modules.push_back(module);
    }
    return id;
  }
  StackId stack_of(StackId caller, FunctionId function, std::uint32_t line) {
    StackId& id = stacks_[{caller, function, line}];
    if (!id) {
      id = StackId{static_cast<std::uint32_t>(stacks_.size())};
      pending_.stacks.push_back({id, caller, function, line});
    }
    return id;
  }
  MetricId metric_of(MetricDeclaration metric) {
    MetricId& id = metrics_[{metric.name, metric.labels}];
    if (!id) {
      id = MetricId{static_cast<std::uint32_t>(metrics_.size())};
      metric.id = id;
      pending_.metrics.push_back(std::move(metric));
    }
    return id;
  }

  void add_argument(TrackId track, const std::string& name, ArgumentValue argument) {
    ScopeRun& run = threads_[track].run;
    argument.name = name_of(name);
    run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()), argument});
    ++run.end_sequence;
  }
  void open(TrackId track, SiteId site) {
    Thread& thread = threads_[track];
    event(thread, {thread.now_ns, site, static_cast<std::uint16_t>(thread.open.size()), 0});
    thread.open.push_back({thread.now_ns, site});
  }
  static void event(Thread& thread, ScopeEvent event) {
    thread.run.events.push_back(event);
    ++thread.run.end_sequence;
  }
  void spend(TrackId track, std::int64_t duration_ns, RunState state) {
    Thread& thread = threads_[track];
    if (has_states_ && duration_ns > 0) {
      thread.state_run.states.push_back({thread.now_ns, duration_ns, thread.cpu, state});
    }
    if (sample_ns_ != 0) {
      sample(thread, duration_ns, state);
    }
    thread.now_ns += duration_ns;
  }
  void sample(Thread& thread, std::int64_t duration_ns, RunState state) {
    if (state == RunState::blocked && duration_ns > 0) {
      add_sample(thread, thread.now_ns + duration_ns, duration_ns);
    }
    if (state != RunState::running) {
      return;
    }
    std::int64_t at_ns = sample_ns_ - thread.unsampled_ns;
    for (; at_ns <= duration_ns; at_ns += sample_ns_) {
      // At the end of a stretch it would belong to the next one.
      add_sample(thread, thread.now_ns + at_ns - 1, 0);
    }
    thread.unsampled_ns = sample_ns_ - (at_ns - duration_ns);
  }
  void add_sample(const Thread& thread, std::int64_t time_ns, std::int64_t blocked_ns) {
    batch_.stack_samples.push_back({thread.state_run.thread, thread.stack, 0, time_ns, blocked_ns});
  }

  /// The earliest time at which something may still be recorded.
  [[nodiscard]] std::int64_t start_of_unwritten() const {
    std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
    for (const auto& [track, thread] : threads_) {
      start_ns = std::min(start_ns, thread.now_ns);
    }
    return start_ns;
  }

  /// Writes what there is as a block. Threads must have come to the latest frame mark, or what they still record lies
  /// before the block's declared end; that is allowed.
  void flush() {
    std::int64_t end_ns = flushed_ns_;
    for (auto& [track, thread] : threads_) {
      end_ns = std::max(end_ns, thread.now_ns);
      const bool is_empty = thread.run.events.empty() && thread.run.open_at_start.empty();
      if (!is_empty) {
        batch_.runs.push_back(thread.run);
      }
      if (!thread.state_run.states.empty()) {
        batch_.states.push_back({thread.state_run.thread, std::exchange(thread.state_run.states, {})});
      }
      const std::uint64_t sequence = thread.run.end_sequence;
      const std::uint64_t dropped = thread.run.dropped_scopes;
      thread.run = {};
      thread.run.dropped_scopes = dropped;
      thread.run.track = track;
      thread.run.first_sequence = sequence;
      thread.run.end_sequence = sequence;
      thread.run.open_at_start = thread.open;
    }
    std::int64_t start_ns = flushed_ns_;
    for (auto& [thread, states] : std::exchange(others_, {})) {
      start_ns = std::min(start_ns, states.front().start_ns);
      batch_.states.push_back({thread, states});
    }
    for (const SpanEvent& span : batch_.spans) {
      start_ns = std::min(start_ns, span.start_ns);
    }
    for (const SampleRun& run : batch_.samples) {
      start_ns = std::min(start_ns, run.times_ns.front());
    }
    batch_.declarations = std::exchange(pending_, {});
    batch_.start_ns = start_ns;
    batch_.end_ns = end_ns;
    writer_.write(batch_);
    // What a lagging thread, hold or span has yet to record lies before what the others have.
    flushed_ns_ = start_of_unwritten();
    batch_ = {};
  }

  capture::CaptureWriter writer_;
  bool has_states_;
  std::uint64_t pid_;
  std::map<TrackId, Thread> threads_;
  std::map<ThreadId, std::vector<ThreadState>> others_;
  std::vector<ThreadDeclaration> observed_;
  std::map<std::string, TrackId> locks_;
  std::map<std::pair<std::string, std::string>, SiteId> sites_;
  std::map<std::string, NameId> names_;
  std::map<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>, MetricId> metrics_;
  std::map<std::string, FunctionId> functions_;
  std::map<std::string, ModuleId> modules_;
  std::map<std::tuple<StackId, FunctionId, std::uint32_t>, StackId> stacks_;
  Declarations pending_;
  EventBatch batch_;
  std::int64_t sample_ns_ = 0;
  std::uint64_t handed_in_ = std::uint64_t{1} << 32U;  // flows
  std::uint32_t tracks_ = 0;
  std::uint64_t frames_ = 0;
  std::int64_t flushed_ns_ = 0;
};

}  // namespace kymo::test
