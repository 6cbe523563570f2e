#include "exchange/perfetto/trace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kymo::exchange {

using perfetto::EventBuilder;
using perfetto::EventField;
using perfetto::LegacyField;

namespace {

/// The mark of an end that the scope did not record itself; empty if it did.
std::string_view mark_of(capture::ScopeEnding how) {
  switch (how) {
    case capture::ScopeEnding::unbalanced:
      return "unbalanced";
    case capture::ScopeEnding::lost:
      return "end_lost";
    case capture::ScopeEnding::open:
      return "open";
    case capture::ScopeEnding::closed:
      break;
  }
  return {};
}

}  // namespace

/// Writes the events of one track's run with each flow point in its place among them.
class PerfettoTraceWriter::ScopeVisitor {
 public:
  ScopeVisitor(PerfettoTraceWriter& writer, PerfettoTrack& track)
      : writer_(writer), trace_(writer.file_.buffer()), track_(track) {}

  ScopeVisitor(PerfettoTraceWriter& writer, PerfettoTrack& track, const ScopeRun& run, const EventBatch& batch)
      : ScopeVisitor(writer, track) {
    run_ = &run;
    batch_ = &batch;
    const auto& order = writer.flow_order_;
    next_flow_ = static_cast<std::size_t>(
        std::lower_bound(order.begin(), order.end(), run.track,
                         [&batch](std::size_t flow, TrackId id) { return batch.flows[flow].track < id; }) -
        order.begin());
  }

  void reach(std::size_t position, const ScopeEvent& event) {
    if (next_argument_ < run_->arguments.size()) {
      take_arguments(position);
    }
    if (next_flow_ < writer_.flow_order_.size()) {
      // At equal times, a flow point comes after opens and before closes so that it lies inside a scope.
      take_flows(event.time_ns, !event.is_open());
    }
  }

  /// Writes the flow points after the last event.
  void finish_run() {
    take_arguments(std::numeric_limits<std::size_t>::max());
    take_flows(std::numeric_limits<std::int64_t>::max(), true);
  }

  void begin(const OpenScope& scope, std::size_t /*depth*/) {
    perfetto::append_short_event(trace_, scope.start_ns, writer_.names_.site(scope.site), track_.place);
    writer_.file_.spill();
  }

  void end(const OpenScope& /*scope*/, std::size_t depth, std::int64_t end_ns, capture::ScopeEnding how) {
    if (how == capture::ScopeEnding::closed && track_.annotations.empty()) {
      perfetto::append_short_event(trace_, end_ns, track_.scope_end, "");
    } else {
      std::string& event = writer_.event_;
      event = track_.scope_end;
      track_.annotations.take(depth, event);
      if (const std::string_view mark = mark_of(how); !mark.empty()) {
        perfetto::add_annotation(event, mark, true);
      }
      perfetto::append_event(trace_, end_ns, event);
    }
    writer_.file_.spill();
  }

 private:
  void take_arguments(std::size_t position) {
    for (; next_argument_ < run_->arguments.size() && run_->arguments[next_argument_].position <= position;
         ++next_argument_) {
      const ArgumentValue& value = run_->arguments[next_argument_].value;
      const std::size_t depth = track_.scopes.depth();
      if (depth != 0) {  // outside of any scope, which occurs only in damaged captures
        track_.annotations.add(depth - 1, writer_.names_.annotation_name(value.name), value, batch_->text);
      }
    }
  }

  void take_flows(std::int64_t time_ns, bool is_inclusive) {
    const auto& order = writer_.flow_order_;
    for (; next_flow_ < order.size(); ++next_flow_) {
      const FlowEvent& flow = batch_->flows[order[next_flow_]];
      if (flow.track != run_->track || flow.time_ns > time_ns || (flow.time_ns == time_ns && !is_inclusive)) {
        return;
      }
      if (!writer_.flow_is_written_[order[next_flow_]]) {
        writer_.flow_is_written_[order[next_flow_]] = true;
        writer_.write_flow(flow);
      }
    }
  }

  PerfettoTraceWriter& writer_;
  std::string& trace_;
  PerfettoTrack& track_;
  const ScopeRun* run_ = nullptr;
  const EventBatch* batch_ = nullptr;
  std::size_t next_argument_ = 0;
  std::size_t next_flow_ = 0;
};

PerfettoTraceWriter::PerfettoTraceWriter(base::OutputFile file)
    : file_(std::move(file)),
      names_(file_.buffer()),
      last_ns_(std::numeric_limits<std::int64_t>::min()),
      next_anchor_ns_(std::numeric_limits<std::int64_t>::min()) {}

void PerfettoTraceWriter::write(const EventBatch& batch, bool has_own_clock) {
  if (is_finished_) {
    return;
  }
  if (!is_begun_) {
    is_begun_ = true;
    names_.begin(std::max<std::int64_t>(batch.start_ns, 0));
  }
  names_.declare(batch.declarations);
  write_facts(batch);
  if (has_own_clock) {
    write_anchors(batch);
  }
  order_flows(batch);
  for (const ScopeRun& run : batch.runs) {
    write_run(run, batch);
  }
  last_ns_ = std::max(last_ns_, batch.end_ns);
  write_spans(batch);
  // At equal times, readers assume that the first one written began first: a span must precede the flow that enters it.
  for (const std::size_t flow : flow_order_) {
    if (!flow_is_written_[flow]) {
      write_flow(batch.flows[flow]);
    }
  }
  write_async_begins(batch);
  write_frames(batch);
  write_samples(batch);
  write_states(batch);
  write_instants(batch);
  file_.spill();
}

void PerfettoTraceWriter::finish(const SpanList& open_spans) {
  if (is_finished_) {
    return;
  }
  is_finished_ = true;
  if (!is_begun_) {
    names_.begin(0);
  }
  for (const auto& track : names_.tracks()) {
    ScopeVisitor visitor(*this, *track);
    track->scopes.finish(last_ns_, visitor);
  }
  for (const auto& thread : names_.threads()) {
    if (const auto last = thread->states.finish()) {
      write_state(*thread, *last);
    }
  }
  const auto end_async = [this](const AsyncSpans::value_type& open, std::int64_t end_ns, const char* mark) {
    begin_slice_end(names_.lane_place(names_.track(open.first.first), open.second));
    perfetto::add_annotation(event_, mark, true);
    perfetto::append_event(file_.buffer(), end_ns, event_);
  };
  for (const Span& span : open_spans.spans) {
    const auto lost =
        (span.flags & Span::end_unknown) != 0 ? open_async_.find({span.track, span.async_id}) : open_async_.end();
    if (lost != open_async_.end()) {
      end_async(*lost, span.end_ns(), "end_lost");
      open_async_.erase(lost);
    }
  }
  for (const auto& open : open_async_) {
    end_async(open, last_ns_, "open");
  }
  file_.close();
}

void PerfettoTraceWriter::write_run(const ScopeRun& run, const EventBatch& batch) {
  PerfettoTrack& track = names_.track(run.track);
  ScopeVisitor visitor(*this, track, run, batch);
  track.scopes.take(run, visitor);
  visitor.finish_run();
  write_drops(track, run, batch.end_ns);
}

void PerfettoTraceWriter::write_drops(PerfettoTrack& track, const ScopeRun& run, std::int64_t time_ns) {
  if (run.dropped_scopes == track.dropped_scopes && run.dropped_others == track.dropped_others) {
    return;
  }
  track.dropped_scopes = run.dropped_scopes;
  track.dropped_others = run.dropped_others;
  begin_instant(PerfettoNames::Category::kymo, "dropped so far", track.place);
  perfetto::add_annotation(event_, "scopes", run.dropped_scopes);
  perfetto::add_annotation(event_, "others", run.dropped_others);
  perfetto::append_event(file_.buffer(), time_ns, event_);
}

void PerfettoTraceWriter::order_flows(const EventBatch& batch) {
  flow_order_.resize(batch.flows.size());
  flow_is_written_.assign(batch.flows.size(), false);
  std::iota(flow_order_.begin(), flow_order_.end(), std::size_t{0});
  std::stable_sort(flow_order_.begin(), flow_order_.end(), [&batch](std::size_t left, std::size_t right) {
    const FlowEvent& a = batch.flows[left];
    const FlowEvent& b = batch.flows[right];
    return a.track != b.track ? a.track < b.track : a.time_ns < b.time_ns;
  });
}

void PerfettoTraceWriter::write_flow(const FlowEvent& flow) {
  const PerfettoTrack& track = names_.track(flow.track);
  event_.clear();
  {
    EventBuilder event(event_);
    if (track.process == ProcessId{1}) {
      event.add_uint64(EventField::category_iids, static_cast<std::uint64_t>(PerfettoNames::Category::flow));
    } else {
      // Flow ids are local to a program: flows of merged processes that all count from 1 must not be joined.
      event.add_string(EventField::categories, "flow of process " + std::to_string(track.process.value()));
    }
    event.add_string(EventField::name, "flow");
    const char phase = flow.phase == FlowPhase::begin ? 's' : flow.phase == FlowPhase::step ? 't' : 'f';
    protozero::pbf_builder<LegacyField> legacy(event, EventField::legacy_event);
    legacy.add_int32(LegacyField::phase, phase);
    legacy.add_uint64(LegacyField::unscoped_id, flow.flow_id);
    if (flow.phase == FlowPhase::end) {
      legacy.add_bool(LegacyField::bind_to_enclosing, true);
    }
  }
  event_ += track.place;
  perfetto::append_event(file_.buffer(), flow.time_ns, event_);
  file_.spill();
}

}  // namespace kymo::exchange
