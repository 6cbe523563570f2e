#include "exchange/perfetto/schedule.hpp"

#include <utility>

#include "base/text/json_text.hpp"

namespace kymo::exchange {

using perfetto::BundleBuilder;
using perfetto::BundleField;
using perfetto::ClockField;
using perfetto::ClockSnapshotField;
using perfetto::KernelEventField;
using perfetto::PacketBuilder;
using perfetto::PacketField;
using perfetto::SwitchField;
using perfetto::TraceField;
using perfetto::WakingField;

namespace {

// The kernel's words for what a thread does that leaves its CPU.
constexpr std::int64_t kernel_runnable = 0;
constexpr std::int64_t kernel_sleeping = 1;
/// The word for a thread that ended: nothing is known of it until it runs again.
constexpr std::int64_t kernel_dead = 16;

constexpr std::string_view idle_name = "swapper";

}  // namespace

void PerfettoSchedule::write(const EventBatch& batch) {
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

void PerfettoSchedule::finish() {
  for (auto& [id, one] : known_) {
    if (const auto last = one.states.finish()) {
      take(one, *last);
    }
    write_stretch(one, kernel_dead);
  }
}

PerfettoSchedule::Thread& PerfettoSchedule::thread(ThreadId id) {
  const auto [place, is_new] = known_.try_emplace(id);
  Thread& one = place->second;
  if (is_new) {
    const ThreadDeclaration& declared = threads_.declared(id);
    one.number = declared.os_thread_id;
    base::append_valid_text(one.name, threads_.name_of(id));
    perfetto::append_thread_name(trace_, declared.pid, declared.os_thread_id, one.name);
  }
  return one;
}

void PerfettoSchedule::take(Thread& thread, const ThreadState& state) {
  const bool follows = thread.ran && thread.ran->end_ns() == state.start_ns;
  write_stretch(thread, !follows ? kernel_dead : state.state == RunState::blocked ? kernel_sleeping : kernel_runnable);
  if (state.state == RunState::running) {
    thread.ran = state;
  }
}

void PerfettoSchedule::write_stretch(Thread& thread, std::int64_t state_after) {
  const std::optional<ThreadState> ran = std::exchange(thread.ran, std::nullopt);
  // Number 0 is the idle thread's.
  if (!ran || thread.number == 0 || ran->start_ns < 0 || ran->end_ns() <= ran->start_ns) {
    return;
  }
  begin(ran->start_ns);
  protozero::pbf_builder<TraceField> trace(trace_);
  PacketBuilder packet(trace, TraceField::packet);
  packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::sequence_id);
  BundleBuilder bundle(packet, PacketField::ftrace_events);
  bundle.add_uint32(BundleField::cpu, ran->cpu);
  add_switch(bundle, ran->start_ns, thread, std::nullopt);
  add_wakes(bundle, thread, {ran->start_ns, ran->end_ns()});
  add_switch(bundle, ran->end_ns(), thread, state_after);
}

/// To the thread, or with a state away from it.
void PerfettoSchedule::add_switch(BundleBuilder& bundle, std::int64_t time_ns, const Thread& thread,
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

void PerfettoSchedule::add_wakes(BundleBuilder& bundle, Thread& waker, TimeRange ran) {
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
void PerfettoSchedule::begin(std::int64_t time_ns) {
  if (std::exchange(is_begun_, true)) {
    return;
  }
  protozero::pbf_builder<TraceField> trace(trace_);
  PacketBuilder packet(trace, TraceField::packet);
  packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::sequence_id);
  protozero::pbf_builder<ClockSnapshotField> snapshot(packet, PacketField::clock_snapshot);
  for (const std::uint32_t id : {perfetto::monotonic_clock, perfetto::boot_clock}) {
    protozero::pbf_builder<ClockField> clock(snapshot, ClockSnapshotField::clocks);
    clock.add_uint32(ClockField::clock_id, id);
    clock.add_uint64(ClockField::timestamp, static_cast<std::uint64_t>(time_ns));
  }
  snapshot.add_uint32(ClockSnapshotField::primary_trace_clock, perfetto::monotonic_clock);
}

}  // namespace kymo::exchange
