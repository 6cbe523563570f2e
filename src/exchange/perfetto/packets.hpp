// The bytes of a Perfetto trace: a sequence of packets, each a field of the protobuf message Trace.
//
//   0A <size> <TracePacket>
//   TracePacket: timestamp (8), trusted_packet_sequence_id (10), sequence_flags (13), and one of track_event (11),
//                interned_data (12), track_descriptor (60), clock_snapshot (6), perf_sample (66), process_tree (2),
//                ftrace_events (1)
//
// The enumerations hold the field numbers that kymo writes, with the names from Perfetto's protos/perfetto/trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include <protozero/pbf_builder.hpp>

namespace kymo::exchange::perfetto {

enum class TraceField : protozero::pbf_tag_type { packet = 1 };

enum class PacketField : protozero::pbf_tag_type {
  ftrace_events = 1,
  process_tree = 2,
  clock_snapshot = 6,
  timestamp = 8,
  trusted_packet_sequence_id = 10,
  track_event = 11,
  interned_data = 12,
  sequence_flags = 13,
  timestamp_clock_id = 58,
  trace_packet_defaults = 59,
  track_descriptor = 60,
  perf_sample = 66,
};

enum class DefaultsField : protozero::pbf_tag_type { timestamp_clock_id = 58 };
enum class ClockSnapshotField : protozero::pbf_tag_type { clocks = 1, primary_trace_clock = 2 };
enum class ClockField : protozero::pbf_tag_type { clock_id = 1, timestamp = 2 };

enum class InternedField : protozero::pbf_tag_type {
  event_categories = 1,
  event_names = 2,
  debug_annotation_names = 3,
  function_names = 5,
  frames = 6,
  callstacks = 7,
  mapping_paths = 17,
  mappings = 19,
};
enum class FrameField : protozero::pbf_tag_type { iid = 1, function_name_id = 2, mapping_id = 3, rel_pc = 4 };
enum class CallstackField : protozero::pbf_tag_type { iid = 1, frame_ids = 2 };
enum class MappingField : protozero::pbf_tag_type { iid = 1, path_string_ids = 7 };
enum class StackSampleField : protozero::pbf_tag_type { cpu = 1, pid = 2, tid = 3, callstack_iid = 4 };
enum class ProcessTreeField : protozero::pbf_tag_type { threads = 2 };
enum class ThreadNameField : protozero::pbf_tag_type { tid = 1, name = 2, tgid = 3 };
enum class BundleField : protozero::pbf_tag_type { cpu = 1, event = 2 };
enum class KernelEventField : protozero::pbf_tag_type { timestamp = 1, pid = 2, sched_switch = 4, sched_waking = 20 };
enum class SwitchField : protozero::pbf_tag_type {
  prev_comm = 1,
  prev_pid = 2,
  prev_state = 4,
  next_comm = 5,
  next_pid = 6,
};
enum class WakingField : protozero::pbf_tag_type { comm = 1, pid = 2 };
enum class InternedTextField : protozero::pbf_tag_type { iid = 1, name = 2 };

enum class TrackField : protozero::pbf_tag_type {
  uuid = 1,
  name = 2,
  process = 3,
  thread = 4,
  parent_uuid = 5,
  counter = 8,
};
enum class ProcessField : protozero::pbf_tag_type { pid = 1, cmdline = 2, process_name = 6, process_labels = 8 };
enum class ThreadField : protozero::pbf_tag_type { pid = 1, tid = 2, thread_name = 5 };
enum class CounterField : protozero::pbf_tag_type { unit = 3, unit_name = 6 };

enum class EventField : protozero::pbf_tag_type {
  category_iids = 3,
  debug_annotations = 4,
  legacy_event = 6,
  type = 9,
  name_iid = 10,
  track_uuid = 11,
  categories = 22,
  name = 23,
  double_counter_value = 44,
  callstack_iid = 56,     // read since release 53
  callstack_weight = 57,  // read since July 2026
};
enum class LegacyField : protozero::pbf_tag_type {
  phase = 2,
  unscoped_id = 6,
  bind_to_enclosing = 12,
};
enum class AnnotationField : protozero::pbf_tag_type {
  name_iid = 1,
  bool_value = 2,
  uint_value = 3,
  int_value = 4,
  double_value = 5,
  string_value = 6,
  name = 10,
};

using PacketBuilder = protozero::pbf_builder<PacketField>;
using EventBuilder = protozero::pbf_builder<EventField>;
using BundleBuilder = protozero::pbf_builder<BundleField>;

enum class EventType : std::int32_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

/// Clock numbers in ClockSnapshot.
constexpr std::uint32_t realtime_clock = 1;
constexpr std::uint32_t monotonic_clock = 3;
constexpr std::uint32_t boot_clock = 6;

/// Events and the interned data they refer to share a sequence. Track descriptors use another one, because a reader
/// assigns a sequence to the thread that it describes.
constexpr std::uint32_t sequence_id = 1;
constexpr std::uint32_t descriptor_sequence_id = 2;
constexpr std::uint32_t state_cleared = 1;
constexpr std::uint32_t needs_state = 2;

/// Appends `"name":value` to an event as a debug annotation. Appends nothing if a string's bytes are outside `text`.
/// With `name_iid` 0 the name is written as a text.
void add_annotation(std::string& event, std::uint32_t name_iid, std::string_view name, const ArgumentValue& value,
                    std::string_view text);
void add_annotation(std::string& event, std::string_view name, std::uint64_t value);
void add_annotation(std::string& event, std::string_view name, std::int64_t value);
void add_annotation(std::string& event, std::string_view name, bool value);
void add_annotation(std::string& event, std::string_view name, std::string_view value);

/// What a packet is appended to; outlives the packet.
struct TraceEnd {
  protozero::pbf_builder<TraceField> trace;
};

/// A packet at the end of a trace, complete when it is destroyed. Begins with its sequence and with flags, if not 0.
class Packet : private TraceEnd, public PacketBuilder {
 public:
  explicit Packet(std::string& trace_bytes, std::uint32_t sequence = sequence_id, std::uint32_t flags = 0)
      : TraceEnd{protozero::pbf_builder<TraceField>(trace_bytes)}, PacketBuilder(trace, TraceField::packet) {
    add_uint32(PacketField::trusted_packet_sequence_id, sequence);
    if (flags != 0) {
      add_uint32(PacketField::sequence_flags, flags);
    }
  }
};

/// Appends a packet with what clocks read at one moment. The trace's own clock is CLOCK_MONOTONIC.
void append_clock_snapshot(std::string& trace, std::initializer_list<std::pair<std::uint32_t, std::int64_t>> readings);

/// Appends a packet with an interned text, which must be valid UTF-8.
void append_interned_text(std::string& trace, InternedField kind, std::uint64_t iid, std::string_view text);

/// Appends a packet that names a thread without a track of its own. The name must be valid UTF-8.
void append_thread_name(std::string& trace, std::uint64_t pid, std::uint64_t thread, std::string_view name);

/// Appends a packet with a track event.
void append_event(std::string& trace, std::int64_t time_ns, std::string_view event);

/// Like append_event() for an event in two parts of 40 bytes together at most, which is needed twice per scope. About
/// 10 ns. Neither view may have a null pointer.
inline void append_short_event(std::string& trace, std::int64_t time_ns, std::string_view event,
                               std::string_view place) {
  std::array<char, 96> packet;
  char* next = packet.data();
  // A tag is the field number times 8 plus the wire type: 0 a number, 2 length-delimited bytes.
  *next++ = (static_cast<char>(TraceField::packet) << 3) | 2;
  char* const size = next++;
  *next++ = static_cast<char>(PacketField::timestamp) << 3;
  auto rest = static_cast<std::uint64_t>(time_ns);
  for (; rest >= 0x80; rest >>= 7U) {
    *next++ = static_cast<char>(rest | 0x80U);
  }
  *next++ = static_cast<char>(rest);
  *next++ = static_cast<char>(PacketField::trusted_packet_sequence_id) << 3;
  *next++ = static_cast<char>(sequence_id);
  *next++ = static_cast<char>(PacketField::sequence_flags) << 3;
  *next++ = static_cast<char>(needs_state);
  *next++ = (static_cast<char>(PacketField::track_event) << 3) | 2;
  *next++ = static_cast<char>(event.size() + place.size());
  std::memcpy(next, event.data(), event.size());
  next += event.size();
  std::memcpy(next, place.data(), place.size());
  next += place.size();
  *size = static_cast<char>(next - size - 1);
  trace.append(packet.data(), next);
}

/// The annotations given so far to open scopes of one track, which are written when the scope ends. Holds at most about
/// 64 KiB per scope. Anything beyond is left out and counted.
class OpenAnnotations {
 public:
  /// Adds an annotation to the scope of this depth. A repeated name gets a number: "loss", "loss#2".
  void add(std::size_t depth, std::string_view name, const ArgumentValue& value, std::string_view text);

  /// Appends the annotations of the scope of this depth to an event. Forgets those of this depth and deeper.
  void take(std::size_t depth, std::string& event);

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::size_t depth = 0;
    NameId name;
    std::size_t begin = 0;  ///< offset in bytes_
  };

  std::string bytes_;
  std::vector<Entry> entries_;
  std::uint64_t left_out_ = 0;  ///< of the scope of left_out_depth_
  std::size_t left_out_depth_ = 0;
};

}  // namespace kymo::exchange::perfetto
