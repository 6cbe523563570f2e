#include "capture/format/batch_codec.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "base/event_lists.hpp"
#include "base/order.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/format/row_columns.hpp"

namespace kymo::capture {
namespace {

// The columns of each table of plain rows: Columns is RowsOut or RowsIn.

template <typename Columns>
void visit(Columns& columns, const AsyncBegin*) {
  columns.time(1, &AsyncBegin::time_ns);
  columns.number(2, &AsyncBegin::track);
  columns.number(3, &AsyncBegin::name);
  columns.number(4, &AsyncBegin::async_id, wandering);
}

template <typename Columns>
void visit(Columns& columns, const FrameMark*) {
  columns.time(1, &FrameMark::time_ns);
  columns.number(2, &FrameMark::stream);
  columns.number(3, &FrameMark::track);
  columns.number(4, &FrameMark::is_break);
}

template <typename Columns>
void visit(Columns& columns, const ThreadWake*) {
  columns.time(1, &ThreadWake::time_ns);
  columns.number(2, &ThreadWake::thread);
  columns.number(3, &ThreadWake::waker);
}

template <typename Columns>
void visit(Columns& columns, const StackSample*) {
  columns.time(1, &StackSample::time_ns);
  columns.number(2, &StackSample::thread);
  columns.number(3, &StackSample::stack, wandering);
  columns.number(4, &StackSample::cpu);
  columns.number(5, &StackSample::blocked_ns, signed_values);
  columns.number(6, &StackSample::unsampled_ns, signed_values);
  columns.number(7, &StackSample::sampled_waits);
}

template <typename Columns>
void visit(Columns& columns, const Message*) {
  columns.text(1, &Message::text);
  columns.time(2, &Message::time_ns);
  columns.number(3, &Message::track);
  columns.number(4, &Message::is_cut);
}

template <typename Columns>
void visit(Columns& columns, const FlowEvent*) {
  columns.time(1, &FlowEvent::time_ns);
  columns.number(2, &FlowEvent::track);
  columns.kind(3, &FlowEvent::phase, FlowPhase::end);
  columns.number(4, &FlowEvent::flow_id, wandering);
}

template <typename Columns>
void visit(Columns& columns, const SyncPoint*) {
  columns.time(1, &SyncPoint::time_ns);
  columns.number(2, &SyncPoint::track);
  columns.number(3, &SyncPoint::number, wandering);
}

template <typename Columns>
void visit(Columns& columns, const TrackEnd*) {
  columns.time(1, &TrackEnd::time_ns);
  columns.number(2, &TrackEnd::track);
}

template <typename Columns>
void visit(Columns& columns, const ClockAnchor*) {
  columns.time(1, &ClockAnchor::monotonic_ns);
  columns.number(2, &ClockAnchor::realtime_ns, wandering);
  columns.number(3, &ClockAnchor::bound_ns, signed_values);
}

template <typename Columns>
void visit(Columns& columns, const ClockUncertainty*) {
  columns.time(1, &ClockUncertainty::start_ns);
  columns.time(2, &ClockUncertainty::end_ns);
  columns.number(3, &ClockUncertainty::bound_ns, signed_values);
}

template <typename Columns>
void visit(Columns& columns, const SpanEvent*) {
  columns.time(1, &SpanEvent::start_ns);
  columns.number(2, &SpanEvent::duration_ns, signed_values);
  columns.number(3, &SpanEvent::track);
  columns.number(4, &SpanEvent::name);
  columns.number(5, &SpanEvent::category);
  columns.number(6, &SpanEvent::argument_count);
  columns.number(7, &SpanEvent::first_argument, wandering);
  columns.number(8, &SpanEvent::async_id, wandering);
}

/// Calls act(table, rows) for each table of plain rows, in the order of a payload.
template <typename Act, typename Batch>
void for_each_event_table(const Act& act, Batch& batch) {
  act(TableId::spans, batch.spans);
  act(TableId::async_begins, batch.async_begins);
  act(TableId::frame_marks, batch.frame_marks);
  act(TableId::wakes, batch.wakes);
  act(TableId::stack_samples, batch.stack_samples);
  act(TableId::messages, batch.messages);
  act(TableId::flows, batch.flows);
  act(TableId::sync_points, batch.sync_points);
  act(TableId::track_ends, batch.track_ends);
  act(TableId::clock_anchors, batch.clock_anchors);
  act(TableId::clock_uncertainties, batch.clock_uncertainties);
}

template <typename Row>
void write_rows(TableId id, const std::vector<Row>& rows, Origin origin, TableWriter& table) {
  if (!rows.empty()) {
    table.begin(id);
    RowsOut<Row> columns(table, rows, origin);
    visit(columns, rows.data());
    table.end();
  }
}

template <typename Row>
void read_rows(const TableView& table, Origin origin, std::vector<Row>& rows) {
  rows.clear();
  RowsIn<Row> columns(table, rows, origin);
  visit(columns, rows.data());
}

// Up to nanoseconds, for times in seconds.
constexpr std::array powers_of_ten{1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

// The least number of decimals with which every value can be scaled to an integer and back exactly. 0 if the values are
// integers already or there is no such number.
std::size_t decimals_of(const std::vector<double>& values, std::vector<double>& scaled) {
  constexpr double largest = 1e15;  // integers below are exact, so scaling them is reversible
  std::size_t decimals = 0;
  scaled.clear();
  for (std::size_t i = 0; i < values.size();) {
    const double integer = std::nearbyint(values[i] * powers_of_ten[decimals]);
    const bool comes_back = std::fabs(integer) < largest && integer / powers_of_ten[decimals] == values[i] &&
                            !(integer == 0 && std::signbit(values[i]));
    if (comes_back) {
      scaled.push_back(integer);
      ++i;
    } else if (++decimals == powers_of_ten.size()) {
      return 0;
    } else {
      scaled.clear();
      i = 0;
    }
  }
  return decimals;
}

// `previous` is the run written before; its times are not written again.
void encode_samples(const SampleRun& run, const SampleRun* previous, Origin origin, TableWriter& table) {
  if (run.times_ns.size() != run.values.size() || (!run.flags.empty() && run.flags.size() != run.values.size())) {
    throw std::length_error("a run of samples has another number of values or flags than of times");
  }
  table.begin(TableId::samples, run.metric.value());
  std::vector<double> scaled;
  const std::size_t decimals = decimals_of(run.values, scaled);
  const bool shares_times = previous != nullptr && previous->times_ns == run.times_ns;
  if (!shares_times) {
    table.field(1, wandering, run.times_ns, [&](std::int64_t time_ns) { return origin.relative(time_ns); });
  }
  table.floats(2, decimals != 0 ? scaled : run.values, shares_times);
  table.field(3, plain, run.flags, [](std::uint8_t flags) { return std::uint64_t{flags}; });
  if (decimals != 0) {
    table.field(4, plain, std::array{decimals}, [](std::size_t count) { return std::uint64_t{count}; });
  }
  table.end();
}

void decode_samples(const TableView& table, const SampleRun* previous, Origin origin, SampleRun& run) {
  run.metric = narrow<MetricId>(table.key());
  if (table.find(1) == nullptr && previous != nullptr) {
    // The values are stored in full, so the payload's size limits what is read here.
    if (table.count(2) != previous->times_ns.size()) {
      throw DecodeError("samples are to share the times of others that are more or fewer");
    }
    run.times_ns = previous->times_ns;
  } else {
    run.times_ns.resize(static_cast<std::size_t>(table.rows()));
    table.field(1, run.times_ns.size(),
                [&](std::size_t i, std::uint64_t value) { run.times_ns[i] = origin.absolute(value); });
  }
  run.values.resize(run.times_ns.size());
  table.floats(2, run.values);
  run.flags.resize(table.find(3) != nullptr ? run.times_ns.size() : 0);
  table.field(3, run.flags.size(),
              [&](std::size_t i, std::uint64_t value) { run.flags[i] = static_cast<std::uint8_t>(value); });
  if (table.count(4) != 0) {
    std::size_t decimals = 0;
    table.field(4, 1, [&](std::size_t, std::uint64_t value) { decimals = static_cast<std::size_t>(value); });
    if (decimals >= powers_of_ten.size()) {
      throw DecodeError("samples have more decimals than any writer gives them");
    }
    for (double& value : run.values) {
      value /= powers_of_ten[decimals];
    }
  }
}

void encode_states(const StateRun& run, Origin origin, TableWriter& table) {
  table.begin(TableId::thread_states, run.thread.value());
  table.field(1, plain, run.states, [](const ThreadState& row) { return row.duration_ns; });
  std::uint64_t end = origin.start();
  table.field(2, signed_values, run.states, [&end](const ThreadState& row) {
    return static_cast<std::uint64_t>(row.start_ns) - std::exchange(end, static_cast<std::uint64_t>(row.end_ns()));
  });
  table.field(3, plain, run.states, [](const ThreadState& row) { return static_cast<std::uint64_t>(row.state); });
  table.field(4, plain, run.states, [](const ThreadState& row) { return std::uint64_t{row.cpu}; });
  table.end();
}

void decode_states(const TableView& table, Origin origin, StateRun& run) {
  run.thread = narrow<ThreadId>(table.key());
  std::vector<ThreadState>& rows = run.states;
  rows.assign(static_cast<std::size_t>(table.rows()), {});
  table.field(1, rows.size(),
              [&](std::size_t i, std::uint64_t value) { rows[i].duration_ns = static_cast<std::int64_t>(value); });
  std::uint64_t end = origin.start();
  table.field(2, rows.size(), [&](std::size_t i, std::uint64_t gap) {
    rows[i].start_ns = static_cast<std::int64_t>(end + gap);
    end = static_cast<std::uint64_t>(rows[i].end_ns());
    if (rows[i].end_ns() < rows[i].start_ns || rows[i].duration_ns < 0) {
      throw DecodeError("a thread's state ends before it begins");
    }
  });
  table.field(4, rows.size(), [&](std::size_t i, std::uint64_t value) { rows[i].cpu = narrow<std::uint32_t>(value); });
  // A later version may know more states; what is not known here leaves a gap.
  std::size_t kept = 0;
  table.field(3, rows.size(), [&](std::size_t i, std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(RunState::blocked)) {
      rows[i].state = static_cast<RunState>(value);
      rows[kept++] = rows[i];
    }
  });
  rows.resize(kept);
}

// The runs of samples and of states.
void encode_runs(const EventBatch& batch, Origin origin, TableWriter& table) {
  const SampleRun* previous = nullptr;
  for (const SampleRun& run : batch.samples) {
    encode_samples(run, std::exchange(previous, &run), origin, table);
  }
  for (const StateRun& run : batch.states) {
    encode_states(run, origin, table);
  }
}

// Clears everything except the lists of runs, whose memory is reused run by run.
void clear_plain(EventBatch& batch) {
  batch.declarations.clear();
  base::for_each_plain_list([](auto& list) { list.clear(); }, batch);
  batch.text.clear();
}

// Decodes a table other than a run; ignores unknown tables.
void decode_other(const TableView& table, Origin origin, EventBatch& batch) {
  if (table.is(TableId::span_arguments)) {
    batch.span_arguments.resize(static_cast<std::size_t>(table.rows()));
    decode_arguments(table, 1, [&](std::size_t i, const ArgumentValue& value) { batch.span_arguments[i] = value; });
    return;
  }
  const auto read = [&](TableId id, auto& rows) {
    if (table.is(id)) {
      read_rows(table, origin, rows);
    }
  };
  for_each_event_table(read, batch);
  decode_declarations(table, batch.declarations);
}

void check_references(const EventBatch& batch) {
  for (const ScopeRun& run : batch.runs) {
    for (const ScopeArgument& argument : run.arguments) {
      check_text(argument.value, batch.text.size());
    }
  }
  for (const ArgumentValue& argument : batch.span_arguments) {
    check_text(argument, batch.text.size());
  }
  for (const SpanEvent& span : batch.spans) {
    if (span.argument_count != 0 &&
        std::uint64_t{span.first_argument} + span.argument_count > batch.span_arguments.size()) {
      throw DecodeError("a span has arguments that its block does not hold");
    }
  }
}

}  // namespace

void BatchEncoder::encode(const EventBatch& batch, ByteBuffer& payload) {
  payload.clear();
  TableWriter table(payload, packing_);
  const Origin origin(batch.start_ns);
  opens_.clear();
  for (const ScopeRun& run : batch.runs) {
    scopes_.encode(run, batch.start_ns, table);
    opens_.push_back(scopes_.opens());
  }
  // In a payload, the runs come behind the frame marks, each with tables of its own.
  const auto write = [&](TableId id, const auto& rows) {
    write_rows(id, rows, origin, table);
    if (id == TableId::spans) {
      encode_span_arguments(batch.span_arguments, table);
    } else if (id == TableId::frame_marks) {
      encode_runs(batch, origin, table);
    }
  };
  for_each_event_table(write, batch);
  if (!batch.text.empty()) {
    table.begin(TableId::text);
    table.bytes(1, batch.text);
    table.end();
  }
  cuts_ = table.cuts();
}

void BatchEncoder::encode_span_arguments(const std::vector<ArgumentValue>& arguments, TableWriter& table) {
  if (arguments.empty()) {
    return;
  }
  table.begin(TableId::span_arguments);
  arguments_.clear();
  for (const ArgumentValue& argument : arguments) {
    arguments_.add(argument);
  }
  arguments_.put(table, 1);
  table.end();
}

void decode_batch(std::span<const std::byte> payload, std::int64_t start_ns, std::int64_t end_ns, BatchParts parts,
                  EventBatch& batch, std::uint64_t most_values) {
  const bool wants_runs =
      parts == BatchParts::everything || parts == BatchParts::scopes || parts == BatchParts::sequences;
  const bool wants_events = parts == BatchParts::everything || parts == BatchParts::scopes;
  const bool wants_samples =
      parts == BatchParts::everything || parts == BatchParts::others || parts == BatchParts::samples;
  const bool wants_others = parts == BatchParts::everything || parts == BatchParts::others;
  const bool wants_states = wants_others || parts == BatchParts::states;
  const Origin origin(start_ns);
  batch.start_ns = start_ns;
  batch.end_ns = end_ns;
  clear_plain(batch);
  std::size_t scope_runs = 0;
  std::size_t sample_runs = 0;
  std::size_t state_runs = 0;
  const auto next = [](auto& runs, std::size_t& count) -> auto& {
    if (count == runs.size()) {
      runs.emplace_back();
    }
    return runs[count++];
  };
  std::uint64_t values = 0;
  TableReader reader(payload);
  TableView table;
  while (reader.next(table)) {
    if (table.is(TableId::scopes)) {
      if (wants_runs) {
        decode_scopes(table, start_ns, wants_events, next(batch.runs, scope_runs));
      }
      continue;
    }
    values += table.values();
    if (values > most_values) {
      throw DecodeError("a block of so few bytes holds no such number of values");
    }
    if (table.is(TableId::samples)) {
      if (wants_samples) {
        SampleRun& run = next(batch.samples, sample_runs);
        decode_samples(table, sample_runs > 1 ? &run - 1 : nullptr, origin, run);
      }
    } else if (table.is(TableId::thread_states)) {
      if (wants_states) {
        decode_states(table, origin, next(batch.states, state_runs));
      }
    } else if (table.is(TableId::text)) {
      if (wants_events || wants_others) {
        batch.text.append(table.bytes(1));
      }
    } else if (wants_others || (parts == BatchParts::stacks && table.is(TableId::stack_samples))) {
      decode_other(table, origin, batch);
    }
  }
  batch.runs.resize(scope_runs);
  batch.samples.resize(sample_runs);
  batch.states.resize(state_runs);
  base::put_in_time_order(batch);  // other writers may leave them in any order
  check_references(batch);
}

}  // namespace kymo::capture
