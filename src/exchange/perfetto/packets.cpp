#include "exchange/perfetto/packets.hpp"

#include <algorithm>
#include <cstring>

#include "base/text/json_text.hpp"
#include "base/text/text.hpp"

namespace kymo::exchange::perfetto {
namespace {

using AnnotationBuilder = protozero::pbf_builder<AnnotationField>;

constexpr std::size_t text_limit = std::size_t{64} << 10U;
// Up to here every name is compared with every other. Beyond, each name gets a number unconditionally.
constexpr std::size_t compared_names = 64;

void add_value(AnnotationBuilder& annotation, const ArgumentValue& value, std::string_view text) {
  switch (value.type) {
    case ArgumentType::int64:
      annotation.add_int64(AnnotationField::int_value, static_cast<std::int64_t>(value.bits));
      return;
    case ArgumentType::uint64:
      annotation.add_uint64(AnnotationField::uint_value, value.bits);
      return;
    case ArgumentType::boolean:
      annotation.add_bool(AnnotationField::bool_value, value.bits != 0);
      return;
    case ArgumentType::float64: {
      double number = 0;
      std::memcpy(&number, &value.bits, sizeof number);
      annotation.add_double(AnnotationField::double_value, number);
      return;
    }
    case ArgumentType::string: {
      std::string content;
      base::append_valid_text(content, text.substr(static_cast<std::size_t>(value.bits), value.text_size));
      if (value.is_cut) {
        content += base::cut_mark;
      }
      annotation.add_string(AnnotationField::string_value, content);
      return;
    }
  }
}

bool is_sound(const ArgumentValue& value, std::string_view text) {
  const bool is_within = value.bits <= text.size() && value.text_size <= text.size() - value.bits;
  return value.type < ArgumentType::string || (value.type == ArgumentType::string && is_within);
}

}  // namespace

void add_annotation(std::string& event, std::uint32_t name_iid, std::string_view name, const ArgumentValue& value,
                    std::string_view text) {
  if (!is_sound(value, text)) {
    return;
  }
  EventBuilder builder(event);
  AnnotationBuilder annotation(builder, EventField::debug_annotations);
  if (name_iid != 0) {
    annotation.add_uint64(AnnotationField::name_iid, name_iid);
  } else {
    annotation.add_string(AnnotationField::name, name.data(), name.size());
  }
  add_value(annotation, value, text);
}

void add_annotation(std::string& event, std::string_view name, std::uint64_t value) {
  add_annotation(event, 0, name, {{}, ArgumentType::uint64, false, 0, value}, {});
}

void add_annotation(std::string& event, std::string_view name, std::int64_t value) {
  add_annotation(event, 0, name, {{}, ArgumentType::int64, false, 0, static_cast<std::uint64_t>(value)}, {});
}

void add_annotation(std::string& event, std::string_view name, bool value) {
  add_annotation(event, 0, name, {{}, ArgumentType::boolean, false, 0, value ? 1U : 0U}, {});
}

void add_annotation(std::string& event, std::string_view name, std::string_view value) {
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(value.size(), UINT32_MAX));
  add_annotation(event, 0, name, {{}, ArgumentType::string, false, size, 0}, value);
}

void append_clock_snapshot(std::string& trace, std::initializer_list<std::pair<std::uint32_t, std::int64_t>> readings) {
  Packet packet(trace);
  protozero::pbf_builder<ClockSnapshotField> snapshot(packet, PacketField::clock_snapshot);
  for (const auto& [id, time_ns] : readings) {
    protozero::pbf_builder<ClockField> clock(snapshot, ClockSnapshotField::clocks);
    clock.add_uint32(ClockField::clock_id, id);
    clock.add_uint64(ClockField::timestamp, static_cast<std::uint64_t>(time_ns));
  }
  snapshot.add_uint32(ClockSnapshotField::primary_trace_clock, monotonic_clock);
}

void append_interned_text(std::string& trace, InternedField kind, std::uint64_t iid, std::string_view text) {
  Packet packet(trace, sequence_id, needs_state);
  protozero::pbf_builder<InternedField> data(packet, PacketField::interned_data);
  protozero::pbf_builder<InternedTextField> entry(data, kind);
  entry.add_uint64(InternedTextField::iid, iid);
  entry.add_string(InternedTextField::name, text.data(), text.size());
}

void append_thread_name(std::string& trace, std::uint64_t pid, std::uint64_t thread, std::string_view name) {
  Packet packet(trace, sequence_id, needs_state);
  protozero::pbf_builder<ProcessTreeField> tree(packet, PacketField::process_tree);
  protozero::pbf_builder<ThreadNameField> entry(tree, ProcessTreeField::threads);
  entry.add_int32(ThreadNameField::tid, static_cast<std::int32_t>(thread));
  entry.add_int32(ThreadNameField::tgid, static_cast<std::int32_t>(pid));
  entry.add_string(ThreadNameField::name, name.data(), name.size());
}

void append_event(std::string& trace, std::int64_t time_ns, std::string_view event) {
  protozero::pbf_builder<TraceField> builder(trace);
  PacketBuilder packet(builder, TraceField::packet);
  packet.add_uint64(PacketField::timestamp, static_cast<std::uint64_t>(time_ns));
  packet.add_uint32(PacketField::trusted_packet_sequence_id, sequence_id);
  packet.add_uint32(PacketField::sequence_flags, needs_state);
  packet.add_bytes(PacketField::track_event, event.data(), event.size());
}

void OpenAnnotations::add(std::size_t depth, std::string_view name, const ArgumentValue& value, std::string_view text) {
  std::size_t first = entries_.size();
  while (first > 0 && entries_[first - 1].depth == depth) {
    --first;
  }
  if (first < entries_.size() && bytes_.size() - entries_[first].begin > text_limit) {
    left_out_ = left_out_depth_ == depth ? left_out_ + 1 : 1;
    left_out_depth_ = depth;
    return;
  }
  const std::size_t count = entries_.size() - first;
  const auto repeats = count >= compared_names
                           ? static_cast<std::ptrdiff_t>(count)
                           : std::count_if(entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end(),
                                           [&value](const Entry& entry) { return entry.name == value.name; });
  const std::size_t begin = bytes_.size();
  if (repeats == 0) {
    add_annotation(bytes_, value.name.value(), name, value, text);
  } else {
    add_annotation(bytes_, 0, std::string(name) + '#' + std::to_string(repeats + 1), value, text);
  }
  if (bytes_.size() > begin) {
    entries_.push_back({depth, value.name, begin});
  }
}

void OpenAnnotations::take(std::size_t depth, std::string& event) {
  while (!entries_.empty() && entries_.back().depth > depth) {
    // Deeper ones are left over from damaged input.
    bytes_.resize(entries_.back().begin);
    entries_.pop_back();
  }
  std::size_t begin = bytes_.size();
  while (!entries_.empty() && entries_.back().depth == depth) {
    begin = entries_.back().begin;
    entries_.pop_back();
  }
  event.append(bytes_, begin);
  bytes_.resize(begin);
  if (left_out_ > 0 && left_out_depth_ >= depth) {
    if (left_out_depth_ == depth) {
      add_annotation(event, "arguments_left_out", left_out_);
    }
    left_out_ = 0;
  }
}

}  // namespace kymo::exchange::perfetto
