// The public calls that record an event: frames, metrics, spans, messages, names.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include <kymo/detail/hot_path.hpp>
#include <kymo/frame.hpp>
#include <kymo/metric.hpp>
#include <kymo/recorder.hpp>
#include <kymo/span.hpp>

#include "base/system/system.hpp"
#include "base/text/text.hpp"
#include "record/hot/fiber.hpp"
#include "record/hot/track_writer.hpp"
#include "record/pool/collector_pump.hpp"
#include "record/pool/event_words.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo {

namespace {

using record::EventKind;
using record::NameSpace;
using record::Recorder;
using record::write_event;

std::atomic<std::uint64_t> io_ns{0};
std::atomic<std::uint64_t> io_bytes{0};
std::atomic<bool> has_io{false};
std::atomic<std::uint64_t> sync_points{0};
std::atomic<std::uint64_t> async_ids{0};

bool is_on() noexcept {
  return Recorder::instance().is_on();
}

std::uint64_t to_bits(double value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Counts an event whose name could not be declared: the pool is empty or there are too many names.
void drop_event() noexcept {
  record::count_dropped(record::Dropped::other);
}

void sample(std::string_view name, double value, std::string_view unit) noexcept {
  static_cast<void>(Recorder::instance().pool_for_events());
  const MetricId metric{Recorder::instance().id_of(NameSpace::metric, name, unit)};
  if (!metric) {
    drop_event();
    return;
  }
  const std::array<std::uint64_t, 1> words{to_bits(value)};
  write_event(EventKind::sample, metric.value(), words);
}

void record_io_sums() noexcept {
  if (has_io.load(std::memory_order_relaxed)) {
    sample("io_ms", static_cast<double>(io_ns.exchange(0, std::memory_order_relaxed)) / 1e6, "ms");
    sample("io_MB", static_cast<double>(io_bytes.exchange(0, std::memory_order_relaxed)) / 1e6, "MB");
  }
}

/// Name ids of an event's arguments; 0 if a name could not be declared.
struct ArgumentNames {
  std::array<NameId, record::most_span_arguments> ids{};
};

/// Writes an event of some words and arguments. The arguments go straight into the chunk, because a signal handler's
/// stack has no room for them. Arguments without a name are left out.
void write_with_arguments(EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                          std::span<const Argument> arguments, const ArgumentNames& names) noexcept {
  std::size_t size = words.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    size += names.ids[i] ? record::words_of(arguments[i]) : 0;
  }
  write_event_with(kind, own_bits, size, [&](std::uint64_t* at) {
    at = std::copy(words.begin(), words.end(), at);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (names.ids[i]) {
        at = record::put_argument(at, names.ids[i].value(), arguments[i]);
      }
    }
  });
}

void flow(std::uint64_t flow_id, FlowPhase phase) noexcept {
  if (is_on()) {
    const std::array<std::uint64_t, 1> words{flow_id};
    write_event(EventKind::flow, static_cast<std::uint64_t>(phase), words);
  }
}

}  // namespace

void record_metric(Text name, double value) noexcept {
  if (is_on()) {
    sample(name, value, {});
  }
}

void record_metric_unit(Text name, double value, Text unit) noexcept {
  if (is_on()) {
    sample(name, value, unit);
  }
}

MetricId declare_metric(const MetricDescription& description) noexcept {
  if (!is_on()) {
    return MetricId{};
  }
  static_cast<void>(Recorder::instance().pool_for_events());
  return Recorder::instance().describe_metric(description);
}

void record_samples(const MetricSample* samples, std::size_t count) noexcept {
  if (!is_on()) {
    return;
  }
  static_cast<void>(Recorder::instance().pool_for_events());
  std::size_t next = 0;
  while (next < count) {
    std::size_t end = next;
    std::size_t known = 0;
    for (; end < count && known < record::most_samples; ++end) {
      known += samples[end].metric ? 1U : 0U;
    }
    if (known != 0) {
      write_event_with(EventKind::samples, known, 2 * known, [&](std::uint64_t* at) {
        for (const MetricSample& sample : std::span(samples + next, end - next)) {
          if (sample.metric) {
            *at++ = sample.metric.value() | (std::uint64_t{sample.flags} << 32U);
            *at++ = to_bits(sample.value);
          }
        }
      });
    }
    next = end;
  }
}

void record_io(std::uint64_t duration_ns, std::uint64_t bytes) noexcept {
  if (is_on()) {
    io_ns.fetch_add(duration_ns, std::memory_order_relaxed);
    io_bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (!has_io.load(std::memory_order_relaxed)) {
      has_io.store(true, std::memory_order_relaxed);
    }
  }
}

void frame_mark(Text stream_name) noexcept {
  if (!is_on()) {
    return;
  }
  const std::string_view stream = stream_name;
  static_cast<void>(Recorder::instance().pool_for_events());
  const FrameStreamId id{Recorder::instance().id_of(NameSpace::frame_stream, stream)};
  if (!id) {
    drop_event();
    return;
  }
  if (stream.empty()) {
    record_io_sums();
  }
  write_event(EventKind::frame_mark, id.value(), {});
  if (stream.empty()) {
    Recorder::instance().count_frame();
    record::pump_collector_if_due();
  }
}

std::uint64_t sync() noexcept {
  if (!is_on()) {
    return 0;
  }
  const std::uint64_t number = sync_points.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::array<std::uint64_t, 1> words{number};
  write_event(EventKind::sync_point, 0, words);
  return number;
}

void message(Text text) noexcept {
  if (is_on()) {
    const std::string_view kept = base::cut_text(text, record::longest_message);
    const bool is_cut = kept.size() < text.size();
    write_event(EventKind::message, (std::uint64_t{kept.size()} << 1U) | (is_cut ? 1U : 0U), {}, kept);
  }
}

TrackId track(Text name, TrackKind kind) noexcept {
  if (!is_on()) {
    return {};
  }
  static_cast<void>(Recorder::instance().pool_for_events());
  return TrackId{Recorder::instance().id_of(kind == TrackKind::async ? NameSpace::async_lane : NameSpace::queue, name)};
}

AsyncSpan::AsyncSpan(Text lane, Text name) noexcept {
  if (!is_on()) {
    return;
  }
  const TrackId lane_track = track(lane, TrackKind::async);
  const NameId name_id{Recorder::instance().id_of(NameSpace::text, name)};
  if (!lane_track || !name_id) {
    drop_event();
    return;
  }
  const std::uint64_t id = async_ids.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::array<std::uint64_t, 2> words{name_id.value(), id};
  if (write_event(EventKind::async_begin, lane_track.value(), words)) {
    id_ = id;
  }
}

AsyncSpan& AsyncSpan::operator=(AsyncSpan&& other) noexcept {
  if (this != &other) {
    end();
    id_ = other.id_;
    other.id_ = 0;
  }
  return *this;
}

void AsyncSpan::argument(const Argument& argument) noexcept {
  if (id_ == 0 || !is_on()) {
    return;
  }
  const NameId name{Recorder::instance().id_of(NameSpace::text, argument.name)};
  if (!name) {
    drop_event();
    return;
  }
  const std::array<std::uint64_t, 1> words{id_};
  write_with_arguments(EventKind::async_argument, 0, words, {&argument, 1}, {{name}});
}

void AsyncSpan::end() noexcept {
  if (id_ != 0 && is_on()) {
    const std::array<std::uint64_t, 1> words{id_};
    write_event(EventKind::async_end, 0, words);
  }
  id_ = 0;
}

void ClockDomain::add_pair(std::uint64_t ticks, std::int64_t monotonic_ns) noexcept {
  if (has_pair_) {
    if (ticks <= ticks_ || monotonic_ns <= monotonic_ns_) {
      return;
    }
    step_ns_ = static_cast<double>(monotonic_ns - monotonic_ns_) / static_cast<double>(ticks - ticks_);
  }
  ticks_ = ticks;
  monotonic_ns_ = monotonic_ns;
  has_pair_ = true;
}

std::int64_t ClockDomain::to_monotonic_ns(std::uint64_t ticks) const noexcept {
  if (!has_pair_) {
    return 0;
  }
  const auto distance = static_cast<std::int64_t>(ticks - ticks_);
  return monotonic_ns_ + static_cast<std::int64_t>(static_cast<double>(distance) * step_ns_);
}

namespace detail {

void emit_span(TrackId track, Text name, Text category, std::int64_t start_ns, std::int64_t duration_ns,
               const Argument* arguments, std::size_t count) noexcept {
  if (!is_on()) {
    return;
  }
  Recorder& recorder = Recorder::instance();
  static_cast<void>(recorder.pool_for_events());
  if (!track || !record::is_near_time(start_ns) || !record::is_near_time(duration_ns)) {
    drop_event();
    return;
  }
  const NameId name_id{recorder.id_of(NameSpace::text, name)};
  const NameId category_id{category.empty() ? 0 : recorder.id_of(NameSpace::text, category)};
  if (!name_id) {
    drop_event();
    return;
  }
  if (!category_id && !category.empty()) {
    drop_event();
  }
  const std::array<std::uint64_t, 3> words{name_id.value() | (std::uint64_t{category_id.value()} << 32U),
                                           static_cast<std::uint64_t>(start_ns),
                                           static_cast<std::uint64_t>(std::max<std::int64_t>(duration_ns, 0))};
  const std::span<const Argument> kept(arguments, std::min(count, record::most_span_arguments));
  ArgumentNames names;
  for (std::size_t i = 0; i < count; ++i) {
    const NameId argument_name{i < kept.size() ? recorder.id_of(NameSpace::text, arguments[i].name) : 0};
    if (!argument_name) {
      drop_event();
    } else {
      names.ids[i] = argument_name;
    }
  }
  write_with_arguments(EventKind::span, track.value(), words, kept, names);
}

}  // namespace detail

void flow_begin(std::uint64_t flow_id) noexcept {
  flow(flow_id, FlowPhase::begin);
}
void flow_step(std::uint64_t flow_id) noexcept {
  flow(flow_id, FlowPhase::step);
}
void flow_end(std::uint64_t flow_id) noexcept {
  flow(flow_id, FlowPhase::end);
}
bool prepare_thread() noexcept {
  if (!is_on()) {
    return false;
  }
  record::TrackSlot* const slot = record::attached_slot();
  if (slot == nullptr) {
    return false;
  }
  record::SlotWrite write(*slot);
  // More than a small chunk's size: postpones a real-time loop's next chunk.
  return write && write.make_room(record::small_chunk_words) != nullptr;
}

void set_thread_name(Text name) noexcept {
  record::notice_fork();
  // Inside a fiber the name still goes to the thread; a thread that has recorded nothing yet has no track to name.
  record::TrackSlot* const own = record::is_in_fiber() ? record::thread_slot()
                                 : prepare_thread()    ? record::current_slot()
                                                       : nullptr;
  if (is_on() && own != nullptr) {
    record::TrackSlot& slot = *own;
    const std::string_view kept = base::cut_text(name, sizeof slot.name - 1);
    slot.name[kept.copy(slot.name, kept.size())] = '\0';
    slot.name_handle = 0;
    if (!Recorder::instance().declarations().declare_thread(TrackId{slot.track.load(std::memory_order_relaxed)},
                                                            slot.os_thread_id, name)) {
      drop_event();
    }
  }
}

std::uint64_t current_memory_bytes() noexcept {
  return base::resident_bytes();
}

}  // namespace kymo
