// The Chrome Trace Event writer for everything except scopes: spans of queues and async lanes, frames, samples,
// instants, flows.
#include <algorithm>

#include "base/text/json_text.hpp"
#include "base/text/text.hpp"
#include "base/time_math.hpp"
#include "exchange/chrome/trace.hpp"

namespace kymo::exchange {

void ChromeTraceWriter::write_spans(const EventBatch& batch) {
  ended_unseen_before_.swap(ended_unseen_);
  ended_unseen_.clear();
  order_by_start(batch.spans, span_order_);
  for (const std::size_t i : span_order_) {
    const SpanEvent& span = batch.spans[i];
    ChromeTrack& track = names_.track(span.track);
    for (const ArgumentValue& argument : arguments_of(span, batch)) {
      span_arguments_.add(0, names_.name(argument.name), argument, batch.text);
    }
    if (track.kind == TrackKind::queue && span.async_id == 0 &&
        track.nesting.admit(span.start_ns, base::add_length(span.start_ns, span.duration_ns))) {
      write_queue_span(track, span);
    } else {
      write_async_span(track, span);
    }
    stream_.spill();
  }
}

void ChromeTraceWriter::write_queue_span(const ChromeTrack& track, const SpanEvent& span) {
  std::string& out = stream_.begin_event();
  out.append("{\"name\":\"").append(names_.name(span.name)).append("\",\"cat\":\"");
  out.append(span.category ? names_.name(span.category) : "queue").append("\",\"ph\":\"X\",\"ts\":");
  base::append_microseconds(out, span.start_ns);
  out += ",\"dur\":";
  base::append_duration_until_end(out, span.start_ns, std::max<std::int64_t>(span.duration_ns, 0));
  out += track.place;
  span_arguments_.take(0, out);
  out += '}';
}

void ChromeTraceWriter::write_async_span(ChromeTrack& track, const SpanEvent& span) {
  const std::int64_t end_ns = base::add_length(span.start_ns, span.duration_ns);
  const AsyncKey key{span.track, span.async_id};
  const auto open = span.async_id == 0 ? open_async_.end() : open_async_.find(key);
  std::string_view name = names_.name(span.name);
  const std::string_view category = span.category && span.async_id == 0 ? names_.name(span.category) : "";
  std::uint64_t lane_id = 0;
  if (open != open_async_.end()) {
    lane_id = open->second.lane_id;
    name = names_.name(open->second.name);
    open_async_.erase(open);
  } else {
    if (span.async_id != 0) {
      ended_unseen_.try_emplace(key);
    }
    lane_id = track.lane_ids.open(span.start_ns, last_lane_id_);
    append_async(track, 'b', name, category, lane_id, span.start_ns);
    stream_.pending() += '}';
  }
  append_async(track, 'e', name, category, lane_id, end_ns);
  std::string& out = stream_.pending();
  span_arguments_.take(0, out);
  out += '}';
  track.lane_ids.close(lane_id, end_ns);
}

void ChromeTraceWriter::write_async_begins(const EventBatch& batch) {
  for (const AsyncBegin& begin : batch.async_begins) {
    const AsyncKey key{begin.track, begin.async_id};
    if (ended_unseen_.count(key) != 0 || ended_unseen_before_.count(key) != 0) {
      continue;
    }
    const auto [place, is_new] = open_async_.try_emplace(key);
    if (!is_new) {
      continue;
    }
    ChromeTrack& track = names_.track(begin.track);
    place->second = {begin.name, track.lane_ids.open(begin.time_ns, last_lane_id_), begin.time_ns};
    append_async(track, 'b', names_.name(begin.name), {}, place->second.lane_id, begin.time_ns);
    stream_.pending() += '}';
  }
}

void ChromeTraceWriter::append_async(const ChromeTrack& track, char phase, std::string_view name,
                                     std::string_view category, std::uint64_t lane_id, std::int64_t time_ns) {
  std::string& out = stream_.begin_event();
  out.append("{\"name\":\"").append(name).append("\",\"cat\":\"").append(track.name.empty() ? "async" : track.name);
  if (!category.empty()) {
    out.append(",").append(category);
  }
  out.append("\",\"ph\":\"") += phase;
  // A local id puts the span into the group of its process.
  out += "\",\"id2\":{\"local\":";
  base::append_json_id(out, lane_id);
  out += "},\"ts\":";
  base::append_microseconds(out, time_ns);
  out += track.place;
}

void ChromeTraceWriter::write_frames(const EventBatch& batch) {
  for (const FrameMark& mark : batch.frame_marks) {
    ChromeFrames& frames = names_.frames(mark.stream);
    const capture::FrameWalk& walk = frames.walk;
    if (!frames.walk.take(mark)) {
      continue;
    }
    std::string& out = stream_.begin_event();
    out += frames.head;
    base::append_microseconds(out, walk.start_ns());
    out += ",\"dur\":";
    base::append_duration_until_end(out, walk.start_ns(), walk.duration_ns());
    out += frames.place;
    out += ",\"args\":{\"number\":";
    base::append_json_integer(out, walk.number());
    out += "}}";
    stream_.spill();
  }
}

void ChromeTraceWriter::write_samples(const EventBatch& batch) {
  std::string number;
  for (const SampleRun& run : batch.samples) {
    const ChromeText& metric = names_.metric(run.metric);
    const std::size_t count = std::min(run.times_ns.size(), run.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      number.clear();
      if (!base::append_json_number(number, run.values[i])) {
        continue;
      }
      std::string& out = stream_.begin_event();
      out += metric.head;
      base::append_microseconds(out, run.times_ns[i]);
      out += metric.tail;
      out += number;
      out += "}}";
      stream_.spill();
    }
  }
}

void ChromeTraceWriter::write_states(const EventBatch& batch) {
  for (const StateRun& run : batch.states) {
    ChromeThread& thread = names_.thread(run.thread);
    for (const ThreadState& state : run.states) {
      if (const auto ended = thread.states.take(state)) {
        write_state(thread, *ended);
      }
    }
    stream_.spill();
  }
}

void ChromeTraceWriter::write_state(const ChromeThread& thread, const ThreadState& state) {
  std::string& out = stream_.begin_event();
  out.append("{\"name\":\"").append(name_of(state.state)).append("\",\"cat\":\"kymo\",\"ph\":\"X\",\"ts\":");
  base::append_microseconds(out, state.start_ns);
  out += ",\"dur\":";
  base::append_duration_until_end(out, state.start_ns, std::max<std::int64_t>(state.duration_ns, 0));
  out += thread.place;
  out += ",\"args\":{\"cpu\":";
  base::append_json_integer(out, std::uint64_t{state.cpu});
  out += "}}";
}

void ChromeTraceWriter::write_instants(const EventBatch& batch) {
  for (const Message& message : batch.messages) {
    begin_instant(message.text, message.is_cut ? base::cut_mark : "", "message", message.time_ns, message.track,
                  false) += '}';
    stream_.spill();
  }
  for (const SyncPoint& point : batch.sync_points) {
    std::string& out =
        begin_instant("sync " + std::to_string(point.number), {}, "sync", point.time_ns, point.track, true);
    out += ",\"args\":{\"number\":";
    base::append_json_integer(out, point.number);
    out += "}}";
  }
  for (const ClockUncertainty& stretch : batch.clock_uncertainties) {
    std::string& out = begin_instant("clock uncertain", {}, "kymo", stretch.start_ns, {}, true);
    out += ",\"args\":{\"until_us\":";
    base::append_microseconds(out, stretch.end_ns);
    out += ",\"bound_us\":";
    base::append_microseconds(out, stretch.bound_ns);
    out += "}}";
  }
}

std::string& ChromeTraceWriter::begin_instant(std::string_view name, std::string_view cut_mark,
                                              std::string_view category, std::int64_t time_ns, TrackId track,
                                              bool is_of_process) {
  // An unknown track is declared by an event of its own, which must not land in the middle of this one.
  const ChromeTrack* const place = track ? &names_.track(track) : nullptr;
  const std::uint64_t pid = place == nullptr ? names_.pid(ProcessId{1}) : 0;
  std::string& out = stream_.begin_event();
  out += "{\"name\":\"";
  base::append_json_text(out, name);
  out.append(cut_mark).append("\",\"cat\":\"").append(category).append("\",\"ph\":\"i\",\"s\":\"");
  out += is_of_process || place == nullptr ? 'p' : 't';
  out += "\",\"ts\":";
  base::append_microseconds(out, time_ns);
  return out += place == nullptr ? chrome_place(pid, pid) : place->place;
}

void ChromeTraceWriter::write_flows(const EventBatch& batch) {
  for (const FlowEvent& flow : batch.flows) {
    const ChromeTrack& track = names_.track(flow.track);
    std::string& out = stream_.begin_event();
    // Flow ids are local to a program: flows of merged processes that all count from 1 must not be joined.
    out += "{\"name\":\"flow\",\"cat\":\"flow";
    if (track.process != ProcessId{1}) {
      out += " of process ";
      base::append_json_integer(out, std::uint64_t{track.process.value()});
    }
    out += "\",\"ph\":\"";
    out += flow.phase == FlowPhase::begin ? 's' : flow.phase == FlowPhase::step ? 't' : 'f';
    out += flow.phase == FlowPhase::end ? "\",\"bp\":\"e\",\"id\":" : "\",\"id\":";
    base::append_json_id(out, flow.flow_id);
    out += ",\"ts\":";
    base::append_microseconds(out, flow.time_ns);
    out += track.place;
    out += '}';
    stream_.spill();
  }
}

}  // namespace kymo::exchange
