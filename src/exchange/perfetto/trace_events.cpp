// The Perfetto trace writer for everything except scopes and flows: spans of queues and async lanes, frames, samples,
// instants, clocks.
#include <algorithm>
#include <cmath>

#include "base/text/text.hpp"
#include "base/time_math.hpp"
#include "exchange/common/export_names.hpp"
#include "exchange/perfetto/trace.hpp"

namespace kymo::exchange {

using perfetto::EventBuilder;
using perfetto::EventField;
using perfetto::EventType;

namespace {

constexpr std::int64_t between_anchors_ns = 1'000'000'000;

}  // namespace

void PerfettoTraceWriter::begin_event(EventType type, PerfettoNames::Category category, const std::string& place) {
  event_.clear();
  EventBuilder(event_).add_enum(EventField::type, static_cast<std::int32_t>(type));
  PerfettoNames::add_category(event_, category);
  event_ += place;
}

void PerfettoTraceWriter::begin_instant(PerfettoNames::Category category, std::string_view name,
                                        const std::string& place) {
  begin_event(EventType::instant, category, place);
  EventBuilder(event_).add_string(EventField::name, name.data(), name.size());
}

const std::string& PerfettoTraceWriter::place_of(TrackId track) {
  if (!track) {
    return names_.process_place(ProcessId{1});
  }
  const PerfettoTrack& known = names_.track(track);
  // A lane has rows but no track of its own.
  return known.kind == TrackKind::async ? names_.process_place(known.process) : known.place;
}

void PerfettoTraceWriter::write_spans(const EventBatch& batch) {
  ended_unseen_before_.swap(ended_unseen_);
  ended_unseen_.clear();
  order_by_start(batch.spans, span_order_);
  for (const std::size_t i : span_order_) {
    write_span(batch.spans[i], batch);
    file_.spill();
  }
}

void PerfettoTraceWriter::write_span(const SpanEvent& span, const EventBatch& batch) {
  PerfettoTrack& track = names_.track(span.track);
  const std::int64_t end_ns = base::add_length(span.start_ns, span.duration_ns);
  const bool is_on_queue = track.kind == TrackKind::queue && span.async_id == 0 &&
                           track.nesting.admit(span.start_ns, end_ns, NestingTrack::Form::two_events);
  if (is_on_queue) {
    append_span_begin(span, true, track.place);
    append_span_arguments(span, batch);
    perfetto::append_event(file_.buffer(), span.start_ns, event_);
    append_slice_end(end_ns, track.place);
    return;
  }
  const AsyncKey key{span.track, span.async_id};
  const auto open = span.async_id == 0 ? open_async_.end() : open_async_.find(key);
  if (open != open_async_.end()) {
    const std::uint64_t lane_id = open->second;
    open_async_.erase(open);
    begin_slice_end(names_.lane_place(track, lane_id));
    append_span_arguments(span, batch);
    perfetto::append_event(file_.buffer(), end_ns, event_);
    track.lane_ids.close(lane_id, end_ns);
    return;
  }
  if (span.async_id != 0) {
    ended_unseen_.try_emplace(key, 0);
  }
  const std::uint64_t lane_id = track.lane_ids.open(span.start_ns, last_lane_id_);
  const std::string& place = names_.lane_place(track, lane_id);
  append_span_begin(span, span.async_id == 0, place);
  append_span_arguments(span, batch);
  perfetto::append_event(file_.buffer(), span.start_ns, event_);
  append_slice_end(end_ns, place);
  track.lane_ids.close(lane_id, end_ns);
}

void PerfettoTraceWriter::append_span_begin(const SpanEvent& span, bool has_category, const std::string& place) {
  event_.clear();
  EventBuilder(event_).add_enum(EventField::type, static_cast<std::int32_t>(EventType::slice_begin));
  if (has_category && span.category) {
    names_.add_category(event_, span.category);
  } else {
    const bool is_of_queue = names_.track(span.track).kind == TrackKind::queue;
    PerfettoNames::add_category(event_, is_of_queue ? PerfettoNames::Category::queue : PerfettoNames::Category::async);
  }
  names_.add_event_name(event_, span.name);
  event_ += place;
}

void PerfettoTraceWriter::append_span_arguments(const SpanEvent& span, const EventBatch& batch) {
  perfetto::OpenAnnotations annotations;
  for (const ArgumentValue& value : arguments_of(span, batch)) {
    annotations.add(0, names_.annotation_name(value.name), value, batch.text);
  }
  annotations.take(0, event_);
}

void PerfettoTraceWriter::begin_slice_end(const std::string& place) {
  event_.clear();
  EventBuilder(event_).add_enum(EventField::type, static_cast<std::int32_t>(EventType::slice_end));
  event_ += place;
}

void PerfettoTraceWriter::append_slice_end(std::int64_t time_ns, const std::string& place) {
  begin_slice_end(place);
  perfetto::append_short_event(file_.buffer(), time_ns, event_, "");
}

void PerfettoTraceWriter::write_async_begins(const EventBatch& batch) {
  for (const AsyncBegin& begin : batch.async_begins) {
    const AsyncKey key{begin.track, begin.async_id};
    if (ended_unseen_.count(key) != 0 || ended_unseen_before_.count(key) != 0 || open_async_.count(key) != 0) {
      continue;
    }
    PerfettoTrack& track = names_.track(begin.track);
    const std::uint64_t lane_id = track.lane_ids.open(begin.time_ns, last_lane_id_);
    open_async_[key] = lane_id;
    SpanEvent span;
    span.track = begin.track;
    span.name = begin.name;
    append_span_begin(span, false, names_.lane_place(track, lane_id));
    perfetto::append_event(file_.buffer(), begin.time_ns, event_);
    file_.spill();
  }
}

void PerfettoTraceWriter::write_frames(const EventBatch& batch) {
  for (const FrameMark& mark : batch.frame_marks) {
    PerfettoFrames& frames = names_.frames(mark.stream);
    if (!frames.walk.take(mark)) {
      continue;
    }
    begin_event(EventType::slice_begin, PerfettoNames::Category::frame, frames.place);
    EventBuilder(event_).add_string(EventField::name, frames.name);
    perfetto::add_annotation(event_, "number", frames.walk.number());
    perfetto::append_event(file_.buffer(), frames.walk.start_ns(), event_);
    append_slice_end(frames.walk.mark_ns(), frames.place);
    file_.spill();
  }
}

void PerfettoTraceWriter::write_samples(const EventBatch& batch) {
  for (const SampleRun& run : batch.samples) {
    const std::string& head = names_.metric(run.metric);
    const std::size_t count = std::min(run.times_ns.size(), run.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(run.values[i])) {
        continue;  // could not be read
      }
      event_ = head;
      EventBuilder(event_).add_double(EventField::double_counter_value, run.values[i]);
      perfetto::append_short_event(file_.buffer(), run.times_ns[i], event_, "");
      file_.spill();
    }
  }
}

void PerfettoTraceWriter::write_states(const EventBatch& batch) {
  for (const StateRun& run : batch.states) {
    PerfettoThread& thread = names_.thread(run.thread);
    for (const ThreadState& state : run.states) {
      if (const auto ended = thread.states.take(state)) {
        write_state(thread, *ended);
      }
    }
    file_.spill();
  }
}

void PerfettoTraceWriter::write_state(const PerfettoThread& thread, const ThreadState& state) {
  begin_event(EventType::slice_begin, PerfettoNames::Category::kymo, thread.place);
  const std::string_view name = name_of(state.state);
  EventBuilder(event_).add_string(EventField::name, name.data(), name.size());
  perfetto::add_annotation(event_, "cpu", std::uint64_t{state.cpu});
  perfetto::append_event(file_.buffer(), state.start_ns, event_);
  append_slice_end(state.end_ns(), thread.place);
}

void PerfettoTraceWriter::write_wait(const StackSample& wait, std::string_view function, std::uint64_t callstack) {
  const std::string& place = names_.waits_place(wait.thread);
  begin_event(EventType::slice_begin, PerfettoNames::Category::kymo, place);
  {
    EventBuilder event(event_);
    event.add_string(EventField::name, function.data(), function.size());
    if (callstack != 0) {
      event.add_uint64(EventField::callstack_iid, callstack);
      event.add_double(EventField::callstack_weight, static_cast<double>(wait.blocked_ns));
    }
  }
  perfetto::append_event(file_.buffer(), base::subtract_length(wait.time_ns, wait.blocked_ns), event_);
  append_slice_end(wait.time_ns, place);
  file_.spill();
}

void PerfettoTraceWriter::write_instants(const EventBatch& batch) {
  for (const Message& message : batch.messages) {
    std::string text = valid_text(message.text);
    text += message.is_cut ? base::cut_mark : "";
    begin_instant(PerfettoNames::Category::message, text, place_of(message.track));
    perfetto::append_event(file_.buffer(), message.time_ns, event_);
    file_.spill();
  }
  for (const SyncPoint& point : batch.sync_points) {
    const ProcessId process = point.track ? names_.track(point.track).process : ProcessId{1};
    begin_instant(PerfettoNames::Category::sync, "sync " + std::to_string(point.number), names_.process_place(process));
    perfetto::add_annotation(event_, "number", point.number);
    perfetto::append_event(file_.buffer(), point.time_ns, event_);
  }
  for (const ClockUncertainty& stretch : batch.clock_uncertainties) {
    begin_instant(PerfettoNames::Category::kymo, "clock uncertain", names_.process_place(ProcessId{1}));
    perfetto::add_annotation(event_, "until_ns", stretch.end_ns);
    perfetto::add_annotation(event_, "bound_ns", stretch.bound_ns);
    perfetto::append_event(file_.buffer(), stretch.start_ns, event_);
  }
}

void PerfettoTraceWriter::write_anchors(const EventBatch& batch) {
  for (const ClockAnchor& anchor : batch.clock_anchors) {
    if (anchor.monotonic_ns < next_anchor_ns_ || anchor.monotonic_ns < 0 || anchor.realtime_ns < 0) {
      continue;
    }
    next_anchor_ns_ = anchor.monotonic_ns + std::min(between_anchors_ns, INT64_MAX - anchor.monotonic_ns);
    perfetto::append_clock_snapshot(file_.buffer(), {{perfetto::monotonic_clock, anchor.monotonic_ns},
                                                     {perfetto::realtime_clock, anchor.realtime_ns}});
  }
}

void PerfettoTraceWriter::write_facts(const EventBatch& batch) {
  const std::vector<InfoDeclaration>& infos = batch.declarations.infos;
  for (std::size_t first = 0; first < infos.size();) {
    const ProcessId process = infos[first].process;
    begin_instant(PerfettoNames::Category::kymo, "run", names_.process_place(process));
    for (; first < infos.size() && infos[first].process == process; ++first) {
      perfetto::add_annotation(event_, valid_text(infos[first].key), infos[first].value);
    }
    perfetto::append_event(file_.buffer(), batch.start_ns, event_);
  }
}

}  // namespace kymo::exchange
