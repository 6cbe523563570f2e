#include "record/track_decoder.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include <kymo/detail/thread_state.hpp>

#include "record/event_words.hpp"

namespace kymo::record {

namespace {

using detail::WordKind;

/// A program that begins async spans and never ends them must not fill the memory: later ones stay without an end.
constexpr std::size_t most_open_async_spans = 65'536;

/// So many words are looked at in a row for opens and closes: few where other words stand between them.
constexpr std::size_t least_stretch = 8;
constexpr std::size_t most_stretch = 512;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(ScopeEvent) == 16 &&
              offsetof(ScopeEvent, site) == 8 && offsetof(ScopeEvent, depth) == 12);

/// Puts a ScopeEvent by two stores. Of a depth that no program reaches, its low bits.
void put(std::byte* to, std::int64_t time_ns, SiteId site, std::size_t depth) {
  const std::array<std::uint64_t, 2> words{static_cast<std::uint64_t>(time_ns),
                                           site | (std::uint64_t{static_cast<std::uint16_t>(depth)} << 32U)};
  std::memcpy(to, words.data(), sizeof words);
}

constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + 7) / 8;
}

/// Appends `size` bytes of text that begin at a word to the batch; returns where they begin there.
std::uint64_t append_text(std::string& text, const std::uint64_t* from, std::size_t size) {
  const std::uint64_t offset = text.size();
  text.append(reinterpret_cast<const char*>(from), size);
  return offset;
}

/// Reads the argument that stands at `words`; its size in words, or 0 when it does not fit.
std::size_t read_argument(std::span<const std::uint64_t> words, ArgumentValue& argument, std::string& text) {
  const std::uint64_t operand = (words[0] >> 6U) & detail::max_operand;
  const std::uint64_t type = operand & 7U;
  if (type > static_cast<std::uint64_t>(ArgumentType::string)) {
    return 0;
  }
  argument.name = static_cast<NameId>(words[0] >> detail::time_shift);
  argument.type = static_cast<ArgumentType>(type);
  if (argument.type != ArgumentType::string) {
    if (words.size() < 2) {
      return 0;
    }
    argument.bits = words[1];
    return 2;
  }
  const auto size = static_cast<std::size_t>(operand >> 4U);
  if (words.size() < 1 + words_for(size)) {
    return 0;
  }
  argument.is_cut = (operand & 8U) != 0;
  argument.text_size = static_cast<std::uint32_t>(size);
  argument.bits = append_text(text, words.data() + 1, size);
  return 1 + words_for(size);
}

WordKind kind_of(std::uint64_t word) {
  return static_cast<WordKind>((word >> 1U) & 0x1FU);
}

}  // namespace

void SampleGatherer::add(EventBatch& batch, MetricId metric, std::int64_t time_ns, double value, std::uint8_t flags) {
  constexpr MetricId most_metrics = 1U << 20U;
  if (metric == 0 || metric >= most_metrics) {
    return;
  }
  if (metric >= runs_.size()) {
    runs_.resize(std::size_t{metric} + 1);
  }
  if (runs_[metric] == 0) {
    batch.samples.push_back({metric, {}, {}, {}});
    runs_[metric] = static_cast<std::uint32_t>(batch.samples.size());
  }
  SampleRun& run = batch.samples[runs_[metric] - 1];
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
  batch.runs.clear();
  batch.spans.clear();
  batch.span_arguments.clear();
  batch.async_begins.clear();
  batch.frame_marks.clear();
  batch.samples.clear();
  batch.messages.clear();
  batch.flows.clear();
  batch.sync_points.clear();
  batch.track_ends.clear();
  batch.clock_anchors.clear();
  batch.clock_uncertainties.clear();
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

void TrackDecoder::close(std::uint32_t depth, std::int64_t time_ns, std::uint16_t flags, ScopeRun& run) {
  // A close without its open (its open was before recording began, or is damaged) closes nothing.
  if (depth < depth_) {
    depth_ = depth;
    run.events.push_back({time_ns, 0, static_cast<std::uint16_t>(depth), flags});
  }
}

void TrackDecoder::skip(std::span<const std::uint64_t> words) {
  std::size_t taken = 0;
  while (taken < words.size()) {
    const std::uint64_t word = words[taken];
    const std::uint64_t operand = (word >> 6U) & detail::max_operand;
    std::size_t size = 1;
    if ((word & 1U) == 0 && kind_of(word) == WordKind::time_base && taken + 1 < words.size()) {
      time_base_ = words[taken + 1];
      size = 2;
    } else if ((word & 1U) == 0 && kind_of(word) == WordKind::argument) {
      size = (operand & 7U) == static_cast<std::uint64_t>(ArgumentType::string) ? 1 + words_for(operand >> 4U) : 2;
    } else if ((word & 1U) == 0 && kind_of(word) == WordKind::event) {
      size = 1 + static_cast<std::size_t>(operand);
    }
    taken += size;
  }
  sequence_ += words.size();
}

/// Decodes opens, and closes of the innermost scope, up to the first word that is neither: the loop that most of what
/// is recorded goes through. At most most_stretch words.
std::size_t TrackDecoder::decode_scopes(std::span<const std::uint64_t> words, ClockMap::Converter& convert,
                                        ScopeRun& run) {
  // Bytes, as growing the run, or an array of events, would set every event before it is written.
  alignas(ScopeEvent) std::array<std::byte, most_stretch * sizeof(ScopeEvent)> events;
  if (open_.size() < depth_ + words.size()) {
    open_.resize(depth_ + words.size());
  }
  OpenScope* const open = open_.data();
  std::size_t depth = depth_;
  ClockMap::Line line = convert.line();
  std::uint64_t offset = time_base_ - line.counter;
  std::int64_t last_ns = last_ns_;
  std::size_t taken = 0;
  for (; taken < words.size(); ++taken) {
    const std::uint64_t word = words[taken];
    const std::uint64_t since = offset + (word >> detail::time_shift);
    std::int64_t time_ns = 0;
    if (since < line.size) [[likely]] {
      time_ns = line.at(since);
    } else {
      time_ns = convert(time_base_ + (word >> detail::time_shift));
      line = convert.line();
      offset = time_base_ - line.counter;
    }
    time_ns = time_ns > last_ns ? time_ns : last_ns;
    const std::uint64_t tag = word & ((std::uint64_t{1} << detail::time_shift) - 1);
    if ((tag & 1U) != 0 && tag != 1) {
      const auto site = static_cast<SiteId>(tag >> 1U);
      open[depth] = {time_ns, site};
      put(events.data() + taken * sizeof(ScopeEvent), time_ns, site, depth);
      ++depth;
    } else if (tag == detail::kind_tag(WordKind::close, std::uint64_t{depth} - 1)) {  // no tag where nothing is open
      --depth;
      put(events.data() + taken * sizeof(ScopeEvent), time_ns, 0, depth);
    } else {
      break;
    }
    last_ns = time_ns;
  }
  last_ns_ = last_ns;
  depth_ = depth;
  const auto* const decoded = reinterpret_cast<const ScopeEvent*>(events.data());
  run.events.insert(run.events.end(), decoded, decoded + taken);
  return taken;
}

std::size_t TrackDecoder::decode(std::span<const std::uint64_t> words, EventBatch& batch, DecodeContext& context) {
  ClockMap::Converter convert = context.clock.converter();
  ScopeRun& run = run_in(batch);
  if (const std::size_t most = run.events.size() + words.size(); run.events.capacity() < most) {
    run.events.reserve(std::max(most, 2 * run.events.capacity()));
  }
  std::size_t taken = 0;
  if (!words.empty()) {
    cover(batch, monotone(convert(time_base_ + (words[0] >> detail::time_shift))));
  }
  std::size_t stretch = least_stretch;
  while (taken < words.size()) {
    const auto next = words.subspan(taken, std::min(stretch, words.size() - taken));
    const std::size_t scopes = decode_scopes(next, convert, run);
    taken += scopes;
    stretch = scopes == next.size() ? std::min(2 * stretch, most_stretch) : least_stretch;
    if (scopes == next.size()) {
      continue;
    }
    const std::uint64_t word = words[taken];
    const std::uint64_t counter = time_base_ + (word >> detail::time_shift);
    if ((word & 1U) != 0) {
      break;
    }
    if (kind_of(word) == WordKind::close) {
      close(static_cast<std::uint32_t>((word >> 6U) & detail::max_operand), monotone(convert(counter)), 0, run);
      ++taken;
      continue;
    }
    std::size_t size = 0;
    const auto rest = words.subspan(taken);
    if (kind_of(word) == WordKind::argument) {
      size = decode_argument(rest, batch, run);
    } else if (kind_of(word) == WordKind::time_base && rest.size() >= 2) {
      time_base_ = rest[1];
      size = 2;
    } else if (kind_of(word) == WordKind::event) {
      size = decode_event(rest, monotone(convert(counter)), batch, context);
    }
    if (size == 0) {
      break;
    }
    taken += size;
  }
  sequence_ += taken;
  run.end_sequence = sequence_;
  if (taken > 0) {
    cover(batch, last_ns_);
  }
  return taken;
}

std::size_t TrackDecoder::decode_argument(std::span<const std::uint64_t> words, EventBatch& batch, ScopeRun& run) {
  ArgumentValue value;
  const std::size_t size = read_argument(words, value, batch.text);
  if (size != 0 && depth_ != 0) {
    run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()), value});
  }
  return size;
}

std::size_t TrackDecoder::decode_span(std::span<const std::uint64_t> words, std::uint64_t own_bits, EventBatch& batch) {
  SpanEvent span;
  span.track = static_cast<TrackId>(own_bits);
  span.name = static_cast<NameId>(words[0]);
  span.category = static_cast<NameId>(words[0] >> 32U);
  span.start_ns = static_cast<std::int64_t>(words[1]);
  span.duration_ns = static_cast<std::int64_t>(words[2]);
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max() / 4;
  if (span.start_ns < -largest || span.start_ns > largest || span.duration_ns < 0 || span.duration_ns > largest) {
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

std::size_t TrackDecoder::decode_event(std::span<const std::uint64_t> words, std::int64_t time_ns, EventBatch& batch,
                                       DecodeContext& context) {
  const auto size = static_cast<std::size_t>((words[0] >> 6U) & detail::max_operand);
  if (size == 0 || words.size() < 1 + size) {
    return 0;
  }
  const std::uint64_t own_bits = words[1] >> 8U;
  const auto payload = words.subspan(2, size - 1);
  const auto needs = [&payload](std::size_t count) { return payload.size() >= count; };
  bool is_sound = true;
  switch (static_cast<EventKind>(words[1] & 0xFFU)) {
    case EventKind::frame_mark:
      batch.frame_marks.push_back({static_cast<FrameStreamId>(own_bits), track_, time_ns});
      break;
    case EventKind::sample:
      is_sound = needs(1);
      if (is_sound) {
        double value = 0;
        std::memcpy(&value, payload.data(), sizeof value);
        context.samples.add(batch, static_cast<MetricId>(own_bits), time_ns, value);
      }
      break;
    case EventKind::samples:
      is_sound = own_bits <= payload.size() / 2;
      for (std::size_t i = 0; is_sound && i < own_bits; ++i) {
        double value = 0;
        std::memcpy(&value, &payload[2 * i + 1], sizeof value);
        context.samples.add(batch, static_cast<MetricId>(payload[2 * i]), time_ns, value,
                            static_cast<std::uint8_t>(payload[2 * i] >> 32U));
      }
      break;
    case EventKind::message: {
      const std::size_t bytes = std::min<std::size_t>(own_bits >> 1U, payload.size() * 8);
      batch.messages.push_back(
          {track_, (own_bits & 1U) != 0, time_ns, std::string(reinterpret_cast<const char*>(payload.data()), bytes)});
      break;
    }
    case EventKind::async_begin:
      is_sound = needs(2);
      if (is_sound) {
        const AsyncBegin begin{static_cast<TrackId>(own_bits), static_cast<NameId>(payload[0]), time_ns, payload[1]};
        batch.async_begins.push_back(begin);
        if (context.open_async.size() < most_open_async_spans) {
          context.open_async[begin.async_id] = {begin.track, begin.name, time_ns, {}, {}};
        }
      }
      break;
    case EventKind::async_end:
    case EventKind::async_argument:
      is_sound = decode_async(static_cast<EventKind>(words[1] & 0xFFU), payload, time_ns, batch, context);
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

bool TrackDecoder::decode_async(EventKind kind, std::span<const std::uint64_t> payload, std::int64_t time_ns,
                                EventBatch& batch, DecodeContext& context) {
  if (payload.empty()) {
    return false;
  }
  const auto found = context.open_async.find(payload[0]);
  if (kind == EventKind::async_argument) {
    ArgumentValue value;
    std::string ignored;
    const bool is_known = found != context.open_async.end();
    const bool is_sound =
        payload.size() >= 2 && read_argument(payload.subspan(1), value, is_known ? found->second.text : ignored) != 0;
    if (is_sound && is_known && found->second.arguments.size() < most_span_arguments) {
      found->second.arguments.push_back(value);
    }
    return is_sound;
  }
  if (found == context.open_async.end()) {
    return true;
  }
  const OpenAsync& open = found->second;
  SpanEvent span{open.track,
                 open.name,
                 0,
                 static_cast<std::uint32_t>(open.arguments.size()),
                 static_cast<std::uint32_t>(batch.span_arguments.size()),
                 open.start_ns,
                 0,
                 found->first};
  span.duration_ns = std::max<std::int64_t>(time_ns - open.start_ns, 0);
  for (ArgumentValue value : open.arguments) {
    if (value.type == ArgumentType::string) {
      const std::uint64_t offset = batch.text.size();
      batch.text.append(open.text, static_cast<std::size_t>(value.bits), value.text_size);
      value.bits = offset;
    }
    batch.span_arguments.push_back(value);
  }
  batch.spans.push_back(span);
  cover(batch, span.start_ns);
  context.open_async.erase(found);
  return true;
}

void TrackDecoder::end_track(EventBatch& batch) {
  ScopeRun& run = run_in(batch);
  close(0, last_ns_, ScopeEvent::forced, run);
  batch.track_ends.push_back({track_, last_ns_});
  cover(batch, last_ns_);
}

}  // namespace kymo::record
