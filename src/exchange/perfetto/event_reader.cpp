#include "exchange/perfetto/event_reader.hpp"

#include <algorithm>

#include <protozero/pbf_reader.hpp>

#include "base/text/json_text.hpp"
#include "base/text/text.hpp"
#include "exchange/import/text_hash.hpp"
#include "exchange/perfetto/fields.hpp"

namespace kymo::exchange {
namespace {

using perfetto::Fields;

constexpr std::size_t most_packet = std::size_t{16} << 20U;
constexpr std::size_t most_texts = std::size_t{64} << 20U;
constexpr std::size_t most_name = std::size_t{64} << 10U;
constexpr std::size_t most_things = std::size_t{1} << 16U;
constexpr std::size_t interned_text_weight = 64;  // memory of an interned text beside its bytes
constexpr std::int64_t latest_event_ns = std::int64_t{1} << 62U;
constexpr std::uint64_t boot_clock = 6;
constexpr std::uint64_t realtime_clock = 1;

/// Clocks 64 to 127 belong to one sequence.
std::uint64_t clock_key(std::uint64_t sequence, std::uint64_t clock) {
  return clock >= 64 && clock < 128 ? (sequence << 8U | clock) : clock << 40U;
}

}  // namespace

bool is_perfetto_trace(std::string_view first) {
  if (first.size() < 3 || first[0] != '\x0A') {
    return false;
  }
  std::size_t at = 1;
  while (at < first.size() && at < 6 && (static_cast<unsigned char>(first[at]) & 0x80U) != 0) {
    ++at;
  }
  // After the packet's size comes a field's tag, whose lowest three bits are a wire type.
  const unsigned tag = at + 1 < first.size() ? static_cast<unsigned char>(first[at + 1]) : 0;
  const unsigned type = tag & 7U;
  const std::size_t text = first.find_first_not_of(" \t\r\n");
  const bool is_json = text != std::string_view::npos && (first[text] == '[' || first[text] == '{') &&
                       first.find_first_of("{}\"]", text + 1) < first.find_first_not_of(" \t\r\n{}\"]", text + 1);
  return tag >= 8 && (type <= 2 || type == 5) && !is_json;
}

void PerfettoEventReader::fail(const std::string& what) const {
  throw MalformedInput(what, offset_, false);
}

std::size_t PerfettoEventReader::read_exactly(char* bytes, std::size_t size) {
  const std::size_t count = input_.read_fully(bytes, size);
  offset_ += count;
  return count;
}

std::uint64_t PerfettoEventReader::read_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    char byte = 0;
    if (read_exactly(&byte, 1) == 0) {
      fail("the trace ends within a packet");
    }
    value |= std::uint64_t{static_cast<unsigned char>(byte) & 0x7FU} << shift;
    if ((static_cast<unsigned char>(byte) & 0x80U) == 0) {
      return value;
    }
  }
  fail("a size has too many bytes");
}

bool PerfettoEventReader::read_packet() {
  char tag = 0;
  if (read_exactly(&tag, 1) == 0) {
    return false;
  }
  if (tag != '\x0A') {
    fail("no packet of a Perfetto trace begins here");
  }
  const std::uint64_t size = read_varint();
  packet_.clear();
  // A size is believed piece by piece.
  constexpr std::uint64_t piece = std::uint64_t{1} << 16U;
  for (std::uint64_t done = 0; done < size;) {
    const auto step = static_cast<std::size_t>(std::min(piece, size - done));
    const std::size_t begin = size > most_packet ? 0 : packet_.size();
    packet_.resize(begin + step);
    if (read_exactly(packet_.data() + begin, step) < step) {
      fail("the trace ends within a packet");
    }
    done += step;
  }
  if (size > most_packet) {
    losses_.damage("packets of more than 16 MiB");
    return true;
  }
  try {
    take_packet(packet_);
  } catch (const protozero::exception&) {
    losses_.damage("packets that are no protobuf");
  }
  return true;
}

bool PerfettoEventReader::next(ChromeEvent& event) {
  while (next_ready_ == ready_count_) {
    next_ready_ = 0;
    ready_count_ = 0;
    if (!read_packet()) {
      return false;
    }
  }
  std::swap(event, ready_[next_ready_++]);
  return true;
}

ChromeEvent& PerfettoEventReader::add_event() {
  if (ready_count_ == ready_.size()) {
    ready_.emplace_back();
  }
  ChromeEvent& event = ready_[ready_count_++];
  event.clear();
  return event;
}

std::string PerfettoEventReader::name_of(std::string_view bytes) {
  const std::string_view kept = base::cut_text(bytes, most_name);
  std::string name;
  repaired_texts_ += base::append_valid_text(name, kept) ? 0U : 1U;
  if (kept.size() < bytes.size()) {
    append_rest_of_name(name, hash_text(bytes.substr(kept.size())), losses_);
  }
  return name;
}

void PerfettoEventReader::take_packet(std::string_view bytes) {
  // The messages in a packet by their field numbers.
  static constexpr std::pair<std::uint32_t, std::string_view Packet::*> messages[] = {
      {2, &Packet::tree},     {6, &Packet::snapshot}, {11, &Packet::event},    {12, &Packet::interned},
      {43, &Packet::process}, {44, &Packet::thread},  {59, &Packet::defaults}, {60, &Packet::track}};
  Packet packet;
  for (Fields field(bytes); field.next();) {
    const auto* const message = std::find_if(std::begin(messages), std::end(messages),
                                             [&field](const auto& entry) { return entry.first == field.tag(); });
    if (message != std::end(messages)) {
      packet.*message->second = field.bytes();
      continue;
    }
    switch (field.tag()) {
      case 8:
        packet.timestamp = field.number();
        packet.has_time = true;
        break;
      case 10:
        packet.sequence = field.number() & 0xFFFFFFFFU;
        break;
      case 13:
        packet.flags |= field.number();
        break;
      case 41:
        packet.flags |= field.number() != 0 ? 1U : 0U;
        break;
      case 42:
        packet.is_after_loss = field.number() != 0;
        break;
      case 58:
        packet.clock = field.number();
        break;
      case 50:
        losses_.ignore("compressed packets of a Perfetto trace");
        break;
      default:
        // 33 to 36, 45 and 61 describe the recording itself.
        if (field.is_bytes() && (field.tag() < 33 || field.tag() > 36) && field.tag() != 45 && field.tag() != 61) {
          losses_.ignore("packets of other sources than track events");
        }
    }
  }
  if (sequences_.size() >= most_things && sequences_.count(packet.sequence) == 0) {
    losses_.damage("packets of sequences beyond 65,536");
    return;
  }
  // Perfetto marks the first packet of each sequence too: it does not know what came before.
  const bool has_lost = packet.is_after_loss && sequences_.count(packet.sequence) != 0;
  Sequence& sequence = sequences_[packet.sequence];
  if (has_lost) {
    losses_.damage("stretches of a sequence that the trace lost");
    sequence.has_state = false;
  }
  if ((packet.flags & 1U) != 0) {
    forget_texts(sequence);
    sequence.clock = 0;
    sequence.track = 0;
    sequence.has_state = true;
  }
  take_snapshot(packet.sequence, packet.snapshot);
  if ((packet.flags & 2U) != 0 && !sequence.has_state) {
    losses_.damage("packets whose interned texts the trace lost");
    return;
  }
  take_defaults(sequence, packet.defaults);
  take_interned(sequence, packet.interned);
  take_tree(packet.tree);
  if (!packet.track.empty()) {
    take_track(packet.track);
  }
  if (!packet.thread.empty() && tracks_.size() < most_things) {
    // The older form: the sequence is the thread's.
    sequence.own_track = hash_text(packet.thread);
    take_thread(tracks_[sequence.own_track], packet.thread);
  }
  if (!packet.process.empty()) {
    Track process;
    take_process(process, packet.process);
  }
  const ChromeTime time = time_of(packet, sequence);
  if (!packet.event.empty()) {
    take_event(packet, sequence, time);
  }
}

void PerfettoEventReader::forget_texts(Sequence& sequence) {
  for (auto& texts : sequence.texts) {
    texts.clear();
  }
  text_bytes_ -= sequence.text_bytes;
  sequence.text_bytes = 0;
}

void PerfettoEventReader::take_defaults(Sequence& sequence, std::string_view bytes) {
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 58) {
      sequence.clock = field.number();
    } else if (field.tag() == 11) {
      for (Fields event(field.bytes()); event.next();) {
        sequence.track = event.tag() == 11 ? event.number() : sequence.track;
      }
    }
  }
}

void PerfettoEventReader::take_interned(Sequence& sequence, std::string_view bytes) {
  for (Fields field(bytes); field.next();) {
    const Interned kind = field.tag() == 1    ? categories
                          : field.tag() == 2  ? names
                          : field.tag() == 3  ? annotation_names
                          : field.tag() == 29 ? string_values
                                              : interned_kinds;
    if (kind == interned_kinds) {
      continue;
    }
    std::uint64_t iid = 0;
    std::string_view text;
    for (Fields entry(field.bytes()); entry.next();) {
      if (entry.tag() == 1) {
        iid = entry.number();
      } else if (entry.tag() == 2) {
        text = entry.bytes();
      }
    }
    std::string name = name_of(text);
    if (text_bytes_ + name.size() + interned_text_weight > most_texts) {
      losses_.damage("interned texts beyond 64 MiB");
      continue;
    }
    const auto [place, is_new] = sequence.texts[kind].try_emplace(iid);
    const std::size_t replaced = is_new ? 0 : place->second.size() + interned_text_weight;
    sequence.text_bytes += name.size() + interned_text_weight - replaced;
    text_bytes_ += name.size() + interned_text_weight - replaced;
    place->second = std::move(name);
  }
}

std::string_view PerfettoEventReader::text_of(const Sequence& sequence, Interned kind, std::uint64_t iid) {
  const auto place = sequence.texts[kind].find(iid);
  if (place == sequence.texts[kind].end()) {
    losses_.damage("interned texts that no packet declares");
    return {};
  }
  return place->second;
}

void PerfettoEventReader::take_snapshot(std::uint64_t sequence, std::string_view bytes) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> readings;
  std::uint64_t primary = 0;
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 2) {
      primary = field.number();
    }
    if (field.tag() != 1 || readings.size() >= most_texts / sizeof(Clock) || clocks_.size() >= most_things) {
      continue;
    }
    std::uint64_t id = 0;
    std::uint64_t time = 0;
    Clock clock;
    for (Fields part(field.bytes()); part.next();) {
      if (part.tag() == 1) {
        id = part.number();
      } else if (part.tag() == 2) {
        time = part.number();
      } else if (part.tag() == 3) {
        clock.is_incremental = part.number() != 0;
      } else if (part.tag() == 4) {
        clock.multiplier = static_cast<std::int64_t>(part.number());
      }
    }
    std::int64_t ns = 0;
    if (clock.multiplier <= 0 || __builtin_mul_overflow(time, clock.multiplier, &ns) || ns > latest_event_ns) {
      losses_.damage("clock readings out of range");
      continue;
    }
    clock.last_ns = ns;
    const std::uint64_t key = clock_key(sequence, id);
    const auto known = clocks_.find(key);
    if (known != clocks_.end()) {
      clock.is_joined = known->second.is_joined;
      clock.offset_ns = known->second.offset_ns;
    }
    clocks_[key] = clock;
    readings.emplace_back(key, ns);
  }
  if (readings.empty()) {
    return;
  }
  const auto reads = [&readings](std::uint64_t key) {
    return std::find_if(readings.begin(), readings.end(), [key](const auto& reading) { return reading.first == key; });
  };
  if (trace_clock_ == 0) {
    const std::uint64_t wanted = clock_key(sequence, primary != 0 ? primary : boot_clock);
    trace_clock_ = reads(wanted) != readings.end() ? wanted : readings.front().first;
  }
  // Any clock that is joined with the trace's joins the others of its snapshot.
  auto anchor = reads(trace_clock_);
  std::int64_t trace_ns = anchor != readings.end() ? anchor->second : 0;
  for (auto reading = readings.begin(); anchor == readings.end() && reading != readings.end(); ++reading) {
    const Clock& clock = clocks_[reading->first];
    if (clock.is_joined && !__builtin_add_overflow(reading->second, clock.offset_ns, &trace_ns)) {
      anchor = reading;
    }
  }
  if (anchor == readings.end() || trace_ns > latest_event_ns || trace_ns < -latest_event_ns) {
    return;
  }
  for (const auto& [key, ns] : readings) {
    clocks_[key].is_joined = true;
    clocks_[key].offset_ns = trace_ns - ns;
    if (key == clock_key(0, realtime_clock) && base_realtime_ns_ == 0 && trace_clock_ != key) {
      base_realtime_ns_ = std::max<std::int64_t>(0, ns - trace_ns);
    }
  }
}

ChromeTime PerfettoEventReader::time_of(const Packet& packet, const Sequence& sequence) {
  if (!packet.has_time) {
    return {};
  }
  const std::uint64_t id = packet.clock != 0 ? packet.clock : sequence.clock != 0 ? sequence.clock : boot_clock;
  const std::uint64_t key = clock_key(packet.sequence, id);
  const auto place = clocks_.find(key);
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(packet.timestamp, place != clocks_.end() ? place->second.multiplier : 1, &ns) ||
      ns > latest_event_ns) {
    return {ChromeTime::Kind::out_of_range, 0};
  }
  if (place != clocks_.end() && place->second.is_incremental) {
    if (__builtin_add_overflow(ns, place->second.last_ns, &ns) || ns > latest_event_ns) {
      return {ChromeTime::Kind::out_of_range, 0};
    }
    place->second.last_ns = ns;
  }
  trace_clock_ = trace_clock_ == 0 ? key : trace_clock_;
  if (key == trace_clock_) {
    return {ChromeTime::Kind::sound, ns};
  }
  if (place == clocks_.end() || !place->second.is_joined) {
    losses_.damage("times of clocks that the trace does not join with its own");
    return {};
  }
  if (__builtin_add_overflow(ns, place->second.offset_ns, &ns) || ns > latest_event_ns || ns < -latest_event_ns) {
    return {ChromeTime::Kind::out_of_range, 0};
  }
  return {ChromeTime::Kind::sound, ns};
}

}  // namespace kymo::exchange
