// The decoder's rare words: arguments, events, begin and end of a track. Compiled for size.
#include <algorithm>
#include <cstring>
#include <limits>

#include <kymo/detail/thread_state.hpp>

#include "base/event_lists.hpp"
#include "record/collector/track_decoder.hpp"
#include "record/pool/event_words.hpp"

namespace kymo::record {

void SampleGatherer::add(EventBatch& batch, MetricId metric, std::int64_t time_ns, double value, std::uint8_t flags) {
  constexpr std::size_t most_metrics = std::size_t{1} << 20U;
  const std::size_t index = metric.index();
  if (index >= most_metrics) {
    return;
  }
  if (index >= runs_.size()) {
    runs_.resize(index + 1);
  }
  if (runs_[index] == 0) {
    batch.samples.push_back({metric, {}, {}, {}});
    runs_[index] = static_cast<std::uint32_t>(batch.samples.size());
  }
  SampleRun& run = batch.samples[runs_[index] - 1];
  run.times_ns.push_back(time_ns);
  run.values.push_back(value);
  if (flags != 0 || !run.flags.empty()) {
    run.flags.resize(run.values.size());
    run.flags.back() = flags;
  }
}

void clear_batch(EventBatch& batch) {
  batch.start_ns = std::numeric_limits<std::int64_t>::max();
  batch.end_ns = std::numeric_limits<std::int64_t>::min();
  batch.declarations.clear();
  base::for_each_list([](auto& list) { list.clear(); }, batch);
  batch.text.clear();
}

ScopeRun& TrackDecoder::run_in(EventBatch& batch) {
  if (run_index_ == no_run) {
    run_index_ = batch.runs.size();
    ScopeRun& run = batch.runs.emplace_back();
    run.track = track_;
    run.first_sequence = sequence_;
    run.end_sequence = sequence_;
    run.open_at_start.assign(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(depth_));
    run.events = std::move(spare_events_);
  }
  return batch.runs[run_index_];
}

std::size_t TrackDecoder::decode_span(std::span<const std::uint64_t> words, std::uint64_t own_bits, EventBatch& batch) {
  SpanEvent span;
  span.track = TrackId{static_cast<std::uint32_t>(own_bits)};
  span.name = NameId{static_cast<std::uint32_t>(words[0])};
  span.category = NameId{static_cast<std::uint32_t>(words[0] >> 32U)};
  span.start_ns = static_cast<std::int64_t>(words[1]);
  span.duration_ns = static_cast<std::int64_t>(words[2]);
  if (!is_near_time(span.start_ns) || span.duration_ns < 0 || !is_near_time(span.duration_ns)) {
    return 0;
  }
  span.first_argument = static_cast<std::uint32_t>(batch.span_arguments.size());
  std::size_t taken = 3;
  while (taken < words.size()) {
    ArgumentValue value;
    const std::size_t size = read_argument(words.subspan(taken), value, batch.text);
    if (size == 0) {
      return 0;
    }
    batch.span_arguments.push_back(value);
    ++span.argument_count;
    taken += size;
  }
  batch.spans.push_back(span);
  cover(batch, span.start_ns);
  cover(batch, span.start_ns + span.duration_ns);
  return taken;
}

void TrackDecoder::decode_hold(std::span<const std::uint64_t> words, TrackId track, std::int64_t end_ns,
                               EventBatch& batch, const DecodeContext& context) {
  SpanEvent span;
  span.track = track;
  span.name = NameId{static_cast<std::uint32_t>(words[0])};
  span.category = NameId{static_cast<std::uint32_t>(words[0] >> 32U)};
  const std::int64_t start_ns = context.clock.to_ns(words[1]);
  // It did not begin after its end, nor before the machine started.
  span.start_ns = std::clamp<std::int64_t>(start_ns, 0, std::max<std::int64_t>(end_ns, 0));
  span.duration_ns = std::max<std::int64_t>(end_ns - span.start_ns, 0);
  span.first_argument = static_cast<std::uint32_t>(batch.span_arguments.size());
  batch.spans.push_back(span);
  cover(batch, span.start_ns);
}

std::size_t TrackDecoder::decode_event(std::span<const std::uint64_t> words, std::int64_t time_ns, EventBatch& batch,
                                       DecodeContext& context) {
  const auto size = static_cast<std::size_t>(operand_of(detail::tag_of(words[0])));
  if (size == 0 || words.size() < 1 + size) {
    return 0;
  }
  const std::uint64_t own_bits = words[1] >> 8U;
  const auto payload = words.subspan(2, size - 1);
  const auto needs = [&payload](std::size_t count) { return payload.size() >= count; };
  bool is_sound = true;
  switch (static_cast<EventKind>(words[1] & 0xFFU)) {
    case EventKind::frame_mark:
      batch.frame_marks.push_back({FrameStreamId{static_cast<std::uint32_t>(own_bits)}, track_, time_ns});
      break;
    case EventKind::sample:
      is_sound = needs(1);
      if (is_sound) {
        double value = 0;
        std::memcpy(&value, payload.data(), sizeof value);
        context.samples.add(batch, MetricId{static_cast<std::uint32_t>(own_bits)}, time_ns, value);
      }
      break;
    case EventKind::samples:
      is_sound = own_bits <= payload.size() / 2;
      for (std::size_t i = 0; is_sound && i < own_bits; ++i) {
        double value = 0;
        std::memcpy(&value, &payload[2 * i + 1], sizeof value);
        context.samples.add(batch, MetricId{static_cast<std::uint32_t>(payload[2 * i])}, time_ns, value,
                            static_cast<std::uint8_t>(payload[2 * i] >> 32U));
      }
      break;
    case EventKind::message: {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(own_bits >> 1U, payload.size() * 8));
      batch.messages.push_back(
          {track_, (own_bits & 1U) != 0, time_ns, std::string(reinterpret_cast<const char*>(payload.data()), bytes)});
      break;
    }
    case EventKind::async_begin:
      is_sound = needs(2);
      if (is_sound) {
        context.async_spans.begin({TrackId{static_cast<std::uint32_t>(own_bits)},
                                   NameId{static_cast<std::uint32_t>(payload[0])}, time_ns, payload[1]},
                                  batch);
      }
      break;
    case EventKind::async_end:
      is_sound = needs(1);
      if (is_sound) {
        context.async_spans.end(payload[0], time_ns);
      }
      break;
    case EventKind::async_argument:
      is_sound = needs(2) && decode_async_argument(payload, time_ns, context.async_spans);
      break;
    case EventKind::span:
      is_sound = needs(3) && decode_span(payload, own_bits, batch) != 0;
      break;
    case EventKind::flow:
      is_sound = needs(1) && own_bits <= static_cast<std::uint64_t>(FlowPhase::end);
      if (is_sound) {
        batch.flows.push_back({track_, static_cast<FlowPhase>(own_bits), time_ns, payload[0]});
      }
      break;
    case EventKind::flow_at:
      is_sound = needs(2) && own_bits >> 32U <= static_cast<std::uint64_t>(FlowPhase::end) &&
                 is_near_time(static_cast<std::int64_t>(payload[1]));
      if (is_sound) {
        batch.flows.push_back({TrackId{static_cast<std::uint32_t>(own_bits)}, static_cast<FlowPhase>(own_bits >> 32U),
                               static_cast<std::int64_t>(payload[1]), payload[0]});
        cover(batch, batch.flows.back().time_ns);
      }
      break;
    case EventKind::hold:
      is_sound = needs(2);
      if (is_sound) {
        decode_hold(payload, TrackId{static_cast<std::uint32_t>(own_bits)}, time_ns, batch, context);
      }
      break;
    case EventKind::sync_point:
      is_sound = needs(1);
      if (is_sound) {
        batch.sync_points.push_back({payload[0], track_, time_ns});
      }
      break;
    default:
      is_sound = false;
  }
  return is_sound ? 1 + size : 0;
}

bool TrackDecoder::decode_async_argument(std::span<const std::uint64_t> payload, std::int64_t time_ns,
                                         AsyncSpans& spans) {
  ArgumentValue value;
  std::string text;
  if (read_argument(payload.subspan(1), value, text) == 0) {
    return false;
  }
  spans.add_argument(payload[0], time_ns, value, text);
  return true;
}

void TrackDecoder::end_track(EventBatch& batch, std::int64_t seen_ns) {
  if (last_ns_ == 0) {
    last_ns_ = seen_ns;
  }
  ScopeRun& run = run_in(batch);
  close(0, last_ns_, ScopeEvent::forced, run);
  batch.track_ends.push_back({track_, last_ns_});
  cover(batch, last_ns_);
}

}  // namespace kymo::record
