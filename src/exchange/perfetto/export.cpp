// Timelines as Perfetto traces: what the writer of traces makes of the events, sampled stacks, and run states as the
// events of a scheduler.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "exchange/common/export_names.hpp"
#include "exchange/common/state_joiner.hpp"
#include "exchange/common/timeline_batches.hpp"
#include "exchange/perfetto/packets.hpp"
#include "exchange/perfetto/trace.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {

using perfetto::BundleBuilder;
using perfetto::BundleField;
using perfetto::CallstackField;
using perfetto::FrameField;
using perfetto::InternedField;
using perfetto::KernelEventField;
using perfetto::MappingField;
using perfetto::Packet;
using perfetto::PacketField;
using perfetto::StackSampleField;
using perfetto::SwitchField;
using perfetto::WakingField;

namespace {

/// Appends sampled stacks, samples and waits of threads, to a trace that was begun, with interned functions and call
/// stacks. Numbers of processes and threads are the system's.
class PerfettoStacks {
 public:
  /// Both must outlive this.
  PerfettoStacks(const Timeline& timeline, PerfettoTraceWriter& writer)
      : tree_(timeline), threads_(timeline), writer_(writer), trace_(writer.buffer()) {}

  void write(const EventBatch& batch) {
    for (const StackSample& sample : batch.stack_samples) {
      if (!sample.is_wait()) {
        write_sample(sample);
      } else if (sample.blocked_ns > 0) {
        write_wait(sample);
      }
      unsampled_ns_ += static_cast<std::uint64_t>(std::max<std::int64_t>(sample.unsampled_ns, 0));
    }
  }

  /// What was left out: a list of at most one line.
  [[nodiscard]] std::vector<std::string> left_out() const { return waits_left_out(unsampled_ns_); }

 private:
  void write_sample(const StackSample& sample) {
    const std::uint32_t stack = tree_.index_of(sample.stack);
    if (stack == 0) {
      return;
    }
    name_thread(sample.thread);
    const std::uint64_t callstack = callstack_of(stack);
    const ThreadDeclaration& thread = threads_.declared(sample.thread);
    Packet packet(trace_, perfetto::sequence_id, perfetto::needs_state);
    packet.add_uint64(PacketField::timestamp, static_cast<std::uint64_t>(sample.time_ns));
    protozero::pbf_builder<StackSampleField> written(packet, PacketField::perf_sample);
    written.add_uint32(StackSampleField::cpu, sample.cpu);
    written.add_uint32(StackSampleField::pid, static_cast<std::uint32_t>(thread.pid));
    written.add_uint32(StackSampleField::tid, static_cast<std::uint32_t>(thread.os_thread_id));
    written.add_uint64(StackSampleField::callstack_iid, callstack);
  }

  void write_wait(const StackSample& wait) {
    const std::uint32_t stack = tree_.index_of(wait.stack);
    const std::string function = stack == 0 ? "wait" : valid_text(tree_.name_of(tree_.function_of(stack)));
    writer_.write_wait(wait, function, stack == 0 ? 0 : callstack_of(stack));
  }

  /// Names the thread without a track of its own: it may have one, from its scopes.
  void name_thread(ThreadId id) {
    if (!named_.insert(id).second) {
      return;
    }
    const ThreadDeclaration& declared = threads_.declared(id);
    perfetto::append_thread_name(trace_, declared.pid, declared.os_thread_id, valid_text(threads_.name_of(id)));
  }

  /// Callstacks have the numbers of stacks, frames and names those of functions.
  [[nodiscard]] std::uint64_t callstack_of(std::uint32_t stack) {
    if (!stacks_.insert(stack).second) {
      return stack;
    }
    std::vector<std::uint64_t> frames;
    for (std::uint32_t at = stack; at != 0 && frames.size() < most_functions_of_stack; at = tree_.caller_of(at)) {
      frames.push_back(frame_of(tree_.function_of(at)));
    }
    Packet packet(trace_, perfetto::sequence_id, perfetto::needs_state);
    protozero::pbf_builder<InternedField> data(packet, PacketField::interned_data);
    protozero::pbf_builder<CallstackField> callstack(data, InternedField::callstacks);
    callstack.add_uint64(CallstackField::iid, stack);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      callstack.add_uint64(CallstackField::frame_ids, *frame);
    }
    return stack;
  }

  [[nodiscard]] std::uint64_t frame_of(FunctionId function) {
    const std::uint64_t iid = std::uint64_t{function.value()} + 1;
    if (functions_.insert(function).second) {
      const std::uint64_t mapping = mapping_of(tree_.module_of(function));
      append_interned_text(trace_, InternedField::function_names, iid, valid_text(tree_.name_of(function)));
      Packet packet(trace_, perfetto::sequence_id, perfetto::needs_state);
      protozero::pbf_builder<InternedField> data(packet, PacketField::interned_data);
      protozero::pbf_builder<FrameField> frame(data, InternedField::frames);
      frame.add_uint64(FrameField::iid, iid);
      frame.add_uint64(FrameField::function_name_id, iid);
      frame.add_uint64(FrameField::mapping_id, mapping);
      frame.add_uint64(FrameField::rel_pc, tree_.offset_of(function));
    }
    return iid;
  }

  /// Readers drop frames without a mapping, so that functions of no file have one without a path.
  [[nodiscard]] std::uint64_t mapping_of(const std::string& path) {
    const auto [place, is_new] = mappings_.try_emplace(path, mappings_.size() + 1);
    if (is_new) {
      append_interned_text(trace_, InternedField::mapping_paths, place->second,
                           valid_text(path.substr(path.rfind('/') == 0 ? 1 : 0)));
      Packet packet(trace_, perfetto::sequence_id, perfetto::needs_state);
      protozero::pbf_builder<InternedField> data(packet, PacketField::interned_data);
      protozero::pbf_builder<MappingField> mapping(data, InternedField::mappings);
      mapping.add_uint64(MappingField::iid, place->second);
      mapping.add_uint64(MappingField::path_string_ids, place->second);
    }
    return place->second;
  }

  stats::StackTree tree_;
  SampledThreads threads_;
  PerfettoTraceWriter& writer_;
  std::string& trace_;
  std::uint64_t unsampled_ns_ = 0;
  std::set<ThreadId> named_;
  std::set<std::uint32_t> stacks_;
  std::set<FunctionId> functions_;
  std::unordered_map<std::string, std::uint64_t> mappings_;  // by path
};

// The kernel's words for what a thread does that leaves its CPU.
constexpr std::int64_t kernel_runnable = 0;
constexpr std::int64_t kernel_sleeping = 1;
/// The word for a thread that ended: nothing is known of it until it runs again.
constexpr std::int64_t kernel_dead = 16;

constexpr std::string_view idle_name = "swapper";

/// Appends run states as the events of a scheduler to a trace that was begun: what ran on each CPU, the states of each
/// thread, and who woke whom. Numbers of processes and threads are the system's.
///
/// Each stretch that a thread ran is two switches: from the idle thread to it, and back. So it needs no other thread's
/// states, and stretches may come in any order. What ran and was not recorded looks idle.
class PerfettoSchedule {
 public:
  /// Both must outlive this.
  PerfettoSchedule(const Timeline& timeline, std::string& trace) : threads_(timeline), trace_(trace) {}

  void write(const EventBatch& batch) {
    for (const ThreadWake& wake : batch.wakes) {
      thread(wake.thread);
      thread(wake.waker).wakes.push_back(wake);
    }
    for (const StateRun& run : batch.states) {
      Thread& one = thread(run.thread);
      for (const ThreadState& state : run.states) {
        if (const auto ended = one.states.take(state)) {
          take(one, *ended);
        }
      }
    }
  }

  void finish() {
    for (auto& [id, one] : known_) {
      if (const auto last = one.states.finish()) {
        take(one, *last);
      }
      write_stretch(one, kernel_dead);
    }
  }

 private:
  struct Thread {
    std::uint64_t number = 0;
    std::string name;
    StateJoiner states;
    std::optional<ThreadState> ran;  ///< the latest stretch, until it is known what followed
    std::vector<ThreadWake> wakes;   ///< of others, until the stretch is known that they were in
  };

  Thread& thread(ThreadId id) {
    const auto [place, is_new] = known_.try_emplace(id);
    Thread& one = place->second;
    if (is_new) {
      const ThreadDeclaration& declared = threads_.declared(id);
      one.number = declared.os_thread_id;
      one.name = valid_text(threads_.name_of(id));
      perfetto::append_thread_name(trace_, declared.pid, declared.os_thread_id, one.name);
    }
    return one;
  }

  void take(Thread& thread, const ThreadState& state) {
    const bool follows = thread.ran && thread.ran->end_ns() == state.start_ns;
    write_stretch(thread, !follows                           ? kernel_dead
                          : state.state == RunState::blocked ? kernel_sleeping
                                                             : kernel_runnable);
    if (state.state == RunState::running) {
      thread.ran = state;
    }
  }

  void write_stretch(Thread& thread, std::int64_t state_after) {
    const std::optional<ThreadState> ran = std::exchange(thread.ran, std::nullopt);
    // Number 0 is the idle thread's.
    if (!ran || thread.number == 0 || ran->start_ns < 0 || ran->end_ns() <= ran->start_ns) {
      return;
    }
    begin(ran->start_ns);
    perfetto::Packet packet(trace_);
    BundleBuilder bundle(packet, PacketField::ftrace_events);
    bundle.add_uint32(BundleField::cpu, ran->cpu);
    add_switch(bundle, ran->start_ns, thread, std::nullopt);
    add_wakes(bundle, thread, {ran->start_ns, ran->end_ns()});
    add_switch(bundle, ran->end_ns(), thread, state_after);
  }

  /// To the thread, or with a state away from it.
  void add_switch(perfetto::BundleBuilder& bundle, std::int64_t time_ns, const Thread& thread,
                  std::optional<std::int64_t> state_after) const {
    const auto number = static_cast<std::int32_t>(thread.number);
    protozero::pbf_builder<KernelEventField> event(bundle, BundleField::event);
    event.add_uint64(KernelEventField::timestamp, static_cast<std::uint64_t>(time_ns));
    event.add_uint32(KernelEventField::pid, state_after ? static_cast<std::uint32_t>(number) : 0);
    protozero::pbf_builder<SwitchField> change(event, KernelEventField::sched_switch);
    const std::string_view before = state_after ? std::string_view(thread.name) : idle_name;
    const std::string_view after = state_after ? idle_name : std::string_view(thread.name);
    change.add_string(SwitchField::prev_comm, before.data(), before.size());
    change.add_int32(SwitchField::prev_pid, state_after ? number : 0);
    change.add_int64(SwitchField::prev_state, state_after.value_or(kernel_runnable));
    change.add_string(SwitchField::next_comm, after.data(), after.size());
    change.add_int32(SwitchField::next_pid, state_after ? 0 : number);
  }

  void add_wakes(perfetto::BundleBuilder& bundle, Thread& waker, TimeRange ran) {
    std::size_t kept = 0;
    for (const ThreadWake& wake : waker.wakes) {
      const Thread& woken = known_.at(wake.thread);
      if (wake.time_ns > ran.end_ns) {
        waker.wakes[kept++] = wake;
      } else if (wake.time_ns >= ran.start_ns && woken.number != 0) {
        protozero::pbf_builder<KernelEventField> event(bundle, BundleField::event);
        event.add_uint64(KernelEventField::timestamp, static_cast<std::uint64_t>(wake.time_ns));
        event.add_uint32(KernelEventField::pid, static_cast<std::uint32_t>(waker.number));
        protozero::pbf_builder<WakingField> waking(event, KernelEventField::sched_waking);
        waking.add_string(WakingField::comm, woken.name);
        waking.add_int32(WakingField::pid, static_cast<std::int32_t>(woken.number));
      }
    }
    waker.wakes.resize(kept);
  }

  /// Readers take the times of such events for those of CLOCK_BOOTTIME. This says that it is the trace's clock: the two
  /// differ by how long the machine was suspended, which no capture knows.
  void begin(std::int64_t time_ns) {
    if (!std::exchange(is_begun_, true)) {
      perfetto::append_clock_snapshot(trace_, {{perfetto::monotonic_clock, time_ns}, {perfetto::boot_clock, time_ns}});
    }
  }

  SampledThreads threads_;
  std::string& trace_;
  bool is_begun_ = false;
  std::unordered_map<ThreadId, Thread> known_;
};

}  // namespace

std::vector<std::string> write_perfetto(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  PerfettoTraceWriter writer(std::move(file));
  writer.count_frames_before(timeline::frames_before(timeline));
  PerfettoStacks stacks(timeline, writer);
  PerfettoSchedule schedule(timeline, writer.buffer());
  TimelineBatches batches(timeline, request.on_progress);
  for (EventBatch batch; batches.next(batch);) {
    writer.write(batch, batches.is_of_first());
    stacks.write(batch);
    schedule.write(batch);
  }
  schedule.finish();
  writer.finish(batches.open_async());
  return stacks.left_out();
}

}  // namespace kymo::exchange
