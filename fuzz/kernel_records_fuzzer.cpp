// Records of the kernel about threads: parsed and followed, whatever they say. States must not overlap, and stacks end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <unordered_map>

#include "threads/stacks/stack_samples.hpp"
#include "threads/states/kernel_records.hpp"
#include "threads/states/run_states.hpp"

namespace {

using kymo::EventBatch;
using kymo::StateRun;
using kymo::ThreadId;
using kymo::ThreadState;

void check(const EventBatch& batch, std::unordered_map<ThreadId, std::int64_t>& ends) {
  for (const StateRun& run : batch.states) {
    std::int64_t& end_ns = ends.try_emplace(run.thread, std::numeric_limits<std::int64_t>::min()).first->second;
    for (const ThreadState& state : run.states) {
      if (state.start_ns < end_ns || state.duration_ns < 0) {
        std::abort();
      }
      end_ns = state.end_ns();
    }
  }
}

/// Every id that is used was declared, in this batch or before, and callers before those they call.
void check(const EventBatch& batch, std::uint32_t& functions, std::uint32_t& stacks) {
  functions += static_cast<std::uint32_t>(batch.declarations.functions.size());
  for (const kymo::StackDeclaration& stack : batch.declarations.stacks) {
    if (stack.id.value() != ++stacks || stack.caller.value() >= stacks || !stack.function ||
        stack.function.value() > functions) {
      std::abort();
    }
  }
  for (const kymo::StackSample& sample : batch.stack_samples) {
    if (sample.stack.value() > stacks || sample.time_ns < batch.start_ns || sample.time_ns > batch.end_ns) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kymo::threads::KernelRecord;
  std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  kymo::threads::RunStates states;
  kymo::threads::StackSamples stacks;
  std::uint32_t function_count = 0;
  std::uint32_t stack_count = 0;
  std::unordered_map<ThreadId, std::int64_t> ends;
  EventBatch batch;
  std::int64_t latest_ns = 0;
  while (const std::size_t record_bytes = kymo::threads::record_size(bytes)) {
    constexpr kymo::threads::WakeTracepoint tracepoint{375, 24};
    if (const KernelRecord wake = kymo::threads::parse_record(bytes.first(record_bytes), tracepoint);
        wake.kind == KernelRecord::Kind::waking) {
      states.take(wake);
    }
    const KernelRecord record = kymo::threads::parse_record(bytes.first(record_bytes));
    bytes = bytes.subspan(record_bytes);
    if (record.time_ns > latest_ns) {
      latest_ns = record.time_ns;
    }
    if (record.kind == KernelRecord::Kind::lost_records) {
      states.lose(record.time_ns, latest_ns);
    }
    states.take(record);
    stacks.take(record, record.kind == KernelRecord::Kind::sampled ? states.thread_of(record) : ThreadId{});
    if (record.lost % 7 == 3) {
      states.collect(latest_ns, 1000, batch);
      stacks.collect(batch);
      check(batch, ends);
      check(batch, function_count, stack_count);
    }
  }
  states.collect(latest_ns, 0, batch);
  stacks.collect(batch);
  check(batch, ends);
  check(batch, function_count, stack_count);
  return 0;
}
