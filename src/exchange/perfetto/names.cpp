#include "exchange/perfetto/names.hpp"

#include <array>
#include <utility>

#include "base/text/json_text.hpp"
#include "base/text/text.hpp"
#include "exchange/common/export_names.hpp"

namespace kymo::exchange {

using perfetto::ClockField;
using perfetto::ClockSnapshotField;
using perfetto::CounterField;
using perfetto::DefaultsField;
using perfetto::EventBuilder;
using perfetto::EventField;
using perfetto::EventType;
using perfetto::InternedField;
using perfetto::InternedTextField;
using perfetto::PacketBuilder;
using perfetto::PacketField;
using perfetto::ProcessField;
using perfetto::ThreadField;
using perfetto::TraceField;
using perfetto::TrackField;

namespace {

using TrackBuilder = protozero::pbf_builder<TrackField>;

/// Ids of categories: first kymo's own, then names by their ids.
constexpr std::uint64_t first_name_category = 16;
constexpr std::array<std::string_view, 9> category_names{"scope",   "function", "frame", "queue", "async",
                                                         "message", "sync",     "flow",  "kymo"};

/// Ids of event names: sites are even, names odd.
std::uint64_t site_iid(SiteId id) {
  return std::uint64_t{id.value()} * 2;
}
std::uint64_t name_iid(NameId id) {
  return std::uint64_t{id.value()} * 2 + 1;
}

std::string valid_text(std::string_view text) {
  std::string out;
  base::append_valid_text(out, text);
  return out;
}

std::string place_of(std::uint64_t uuid) {
  std::string place;
  EventBuilder(place).add_uint64(EventField::track_uuid, uuid);
  return place;
}

}  // namespace

void PerfettoNames::begin(std::int64_t start_ns) {
  protozero::pbf_builder<TraceField> trace(trace_);
  {
    PacketBuilder packet(trace, TraceField::packet);
    packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::sequence_id);
    packet.add_uint32(PacketField::sequence_flags, perfetto::state_cleared);
    protozero::pbf_builder<DefaultsField> defaults(packet, PacketField::trace_packet_defaults);
    defaults.add_uint32(DefaultsField::timestamp_clock_id, perfetto::monotonic_clock);
  }
  {
    PacketBuilder packet(trace, TraceField::packet);
    packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::descriptor_sequence_id);
    packet.add_uint32(PacketField::sequence_flags, perfetto::state_cleared);
  }
  {
    PacketBuilder packet(trace, TraceField::packet);
    packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::sequence_id);
    protozero::pbf_builder<ClockSnapshotField> snapshot(packet, PacketField::clock_snapshot);
    {
      protozero::pbf_builder<ClockField> clock(snapshot, ClockSnapshotField::clocks);
      clock.add_uint32(ClockField::clock_id, perfetto::monotonic_clock);
      clock.add_uint64(ClockField::timestamp, static_cast<std::uint64_t>(start_ns));
    }
    snapshot.add_uint32(ClockSnapshotField::primary_trace_clock, perfetto::monotonic_clock);
  }
  for (std::size_t i = 0; i < category_names.size(); ++i) {
    intern(InternedField::event_categories, i + 1, category_names[i]);
  }
}

void PerfettoNames::declare(const Declarations& declarations) {
  for (const ProcessDeclaration& process : declarations.processes) {
    declare_process(process);
  }
  for (const NameDeclaration& name : declarations.names) {
    names_.get(name.id).text = valid_text(name.text);
  }
  for (const SiteDeclaration& site : declarations.sites) {
    declare_site(site);
  }
  for (const TrackDeclaration& track : declarations.tracks) {
    declare_track(track);
  }
  for (const MetricDeclaration& metric : declarations.metrics) {
    declare_metric(metric);
  }
  for (const FrameStreamDeclaration& stream : declarations.frame_streams) {
    streams_.get(stream.id) = stream;
  }
  for (const ThreadDeclaration& thread : declarations.threads) {
    declared_threads_.get(thread.id) = thread;
  }
}

void PerfettoNames::declare_process(const ProcessDeclaration& declaration) {
  Process& known = processes_.get(declaration.id);
  if (known.uuid == 0) {
    known.uuid = ++last_uuid_;
    known.pid = new_number(used_pids_, declaration.pid);
    known.place = place_of(known.uuid);
    known.boot_id = declaration.boot_id;
    owners_.try_emplace({declaration.boot_id, declaration.pid}, declaration.id);
  }
  protozero::pbf_builder<TraceField> trace(trace_);
  PacketBuilder packet(trace, TraceField::packet);
  packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::descriptor_sequence_id);
  TrackBuilder track(packet, PacketField::track_descriptor);
  track.add_uint64(TrackField::uuid, known.uuid);
  protozero::pbf_builder<ProcessField> process(track, TrackField::process);
  process.add_int32(ProcessField::pid, static_cast<std::int32_t>(known.pid));
  if (!declaration.command_line.empty()) {
    const std::string_view kept = base::cut_text(declaration.command_line, 256);
    const std::string name = valid_text(kept);
    process.add_string(ProcessField::process_name,
                       kept.size() < declaration.command_line.size() ? name + std::string(base::cut_mark) : name);
  }
  if (!declaration.host.empty()) {
    process.add_string(ProcessField::process_labels, valid_text(declaration.host));
  }
  if (!declaration.rank.empty()) {
    process.add_string(ProcessField::process_labels, "rank " + valid_text(declaration.rank));
  }
}

void PerfettoNames::declare_site(const SiteDeclaration& declaration) {
  const bool is_function = declaration.kind == SiteKind::function || declaration.kind == SiteKind::hooked;
  intern(InternedField::event_names, site_iid(declaration.id), valid_text(site_name(declaration)));
  PerfettoSite& site = sites_.get(declaration.id);
  site.begin.clear();
  EventBuilder event(site.begin);
  event.add_enum(EventField::type, static_cast<std::int32_t>(EventType::slice_begin));
  event.add_uint64(EventField::category_iids,
                   static_cast<std::uint64_t>(is_function ? Category::function : Category::scope));
  event.add_uint64(EventField::name_iid, site_iid(declaration.id));
}

void PerfettoNames::declare_track(const TrackDeclaration& declaration) {
  const bool is_new = tracks_.find(declaration.id) == nullptr;
  PerfettoTrack& track = tracks_.get(declaration.id);
  track.name = valid_text(declaration.name);
  if (is_new) {
    track.kind = declaration.kind;
    track.process = declaration.process;
    track_uuids_[declaration.id] = ++last_uuid_;
    track.place = place_of(last_uuid_);
    EventBuilder(track.scope_end).add_enum(EventField::type, static_cast<std::int32_t>(EventType::slice_end));
    track.scope_end += track.place;
    if (track.kind == TrackKind::thread) {
      thread_numbers_[declaration.id] = new_number(used_tids_, declaration.os_thread_id);
    }
  }
  if (track.kind == TrackKind::async) {
    return;  // its spans are drawn on separate rows
  }
  const Process& owner = process(track.process);
  protozero::pbf_builder<TraceField> trace(trace_);
  PacketBuilder packet(trace, TraceField::packet);
  packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::descriptor_sequence_id);
  TrackBuilder descriptor(packet, PacketField::track_descriptor);
  descriptor.add_uint64(TrackField::uuid, track_uuids_[declaration.id]);
  descriptor.add_uint64(TrackField::parent_uuid, owner.uuid);
  if (track.kind == TrackKind::thread) {
    protozero::pbf_builder<ThreadField> thread(descriptor, TrackField::thread);
    thread.add_int32(ThreadField::pid, static_cast<std::int32_t>(owner.pid));
    thread.add_int32(ThreadField::tid, static_cast<std::int32_t>(thread_numbers_[declaration.id]));
    if (!track.name.empty()) {
      thread.add_string(ThreadField::thread_name, track.name);
    }
  } else {
    descriptor.add_string(TrackField::name, track.name.empty() ? "queue" : track.name);
  }
}

void PerfettoNames::declare_metric(const MetricDeclaration& declaration) {
  const std::uint64_t uuid = ++last_uuid_;
  const Process& owner = process(declaration.process);
  {
    protozero::pbf_builder<TraceField> trace(trace_);
    PacketBuilder packet(trace, TraceField::packet);
    packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::descriptor_sequence_id);
    TrackBuilder track(packet, PacketField::track_descriptor);
    track.add_uint64(TrackField::uuid, uuid);
    track.add_uint64(TrackField::parent_uuid, owner.uuid);
    track.add_string(TrackField::name, valid_text(metric_name(declaration)));
    protozero::pbf_builder<CounterField> counter(track, TrackField::counter);
    // The UI shows the unit after the number, and "150 1" says no more than "150".
    if (declaration.unit.empty() || declaration.unit == "1") {
      counter.add_enum(CounterField::unit, 0);  // unspecified: a message without fields would not be written
    } else {
      counter.add_string(CounterField::unit_name, valid_text(declaration.unit));
    }
  }
  PerfettoMetric& metric = metrics_.get(declaration.id);
  metric.head.clear();
  EventBuilder event(metric.head);
  event.add_enum(EventField::type, static_cast<std::int32_t>(EventType::counter));
  event.add_uint64(EventField::track_uuid, uuid);
}

std::string_view PerfettoNames::site(SiteId id) {
  return sites_.find_or(id, [&] { declare_site(lost_site(id)); }).begin;
}

PerfettoTrack& PerfettoNames::track(TrackId id) {
  return tracks_.find_or(id, [&] { declare_track(lost_track(id)); });
}

const PerfettoMetric& PerfettoNames::metric(MetricId id) {
  return metrics_.find_or(id, [&] { declare_metric(lost_metric(id)); });
}

PerfettoFrames& PerfettoNames::frames(FrameStreamId id) {
  PerfettoFrames* const known = frames_.find(id);
  if (known != nullptr) {
    return *known;
  }
  const FrameStreamDeclaration* const declared = streams_.find(id);
  const FrameStreamDeclaration stream = declared != nullptr ? *declared : lost_frames(id);
  PerfettoFrames& frames = frames_.get(id);
  frames.name = stream.name.empty() ? "frame" : valid_text(stream.name);
  frames.place = new_place(stream.process, frames.name == "frame" ? "frames" : "frames: " + frames.name);
  return frames;
}

PerfettoThread& PerfettoNames::thread(ThreadId id) {
  PerfettoThread* const known = threads_.find(id);
  if (known != nullptr) {
    return *known;
  }
  PerfettoThread& made = threads_.get(id);
  made.place = new_row(id, "states");
  return made;
}

const std::string& PerfettoNames::waits_place(ThreadId id) {
  std::string& place = waits_places_[id];
  if (place.empty()) {
    place = new_row(id, "waits");
  }
  return place;
}

std::string PerfettoNames::new_row(ThreadId id, std::string_view what) {
  const ThreadDeclaration* const declared = declared_threads_.find(id);
  const ThreadDeclaration lost;
  const ThreadDeclaration& thread = declared != nullptr ? *declared : lost;
  const std::string& boot_id = process(thread.process).boot_id;
  const auto owner = owners_.find({boot_id, thread.pid});
  return new_place(owner != owners_.end() ? owner->second : thread.process,
                   std::string(what) + " of " +
                       (thread.name.empty() ? std::string("thread") : valid_text(thread.name)) + " " +
                       std::to_string(thread.os_thread_id));
}

const std::string& PerfettoNames::process_place(ProcessId id) {
  return process(id).place;
}

const std::string& PerfettoNames::lane_place(const PerfettoTrack& track, std::uint64_t lane_id) {
  std::string& place = lanes_[{&track, lane_id}];
  if (place.empty()) {
    // Readers draw rows of the same name together.
    place = new_place(track.process, track.name.empty() ? "async" : track.name);
  }
  return place;
}

std::string PerfettoNames::new_place(ProcessId process_id, std::string_view name) {
  const Process& owner = process(process_id);
  const std::uint64_t uuid = ++last_uuid_;
  protozero::pbf_builder<TraceField> trace(trace_);
  PacketBuilder packet(trace, TraceField::packet);
  packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::descriptor_sequence_id);
  TrackBuilder track(packet, PacketField::track_descriptor);
  track.add_uint64(TrackField::uuid, uuid);
  track.add_uint64(TrackField::parent_uuid, owner.uuid);
  track.add_string(TrackField::name, name.data(), name.size());
  return place_of(uuid);
}

PerfettoNames::Process& PerfettoNames::process(ProcessId id) {
  return processes_.find_or(id, [&] {
    ProcessDeclaration lost;
    lost.id = id;
    declare_process(lost);
  });
}

PerfettoNames::Name& PerfettoNames::name(NameId id) {
  Name* const known = names_.find(id);
  if (known != nullptr) {
    return *known;
  }
  Name& lost = names_.get(id);
  lost.text = lost_name("name", id);
  return lost;
}

std::string_view PerfettoNames::annotation_name(NameId id) {
  Name& known = name(id);
  if (id && !std::exchange(known.is_annotation, true)) {
    intern(InternedField::debug_annotation_names, id.value(), known.text);
  }
  return known.text;
}

void PerfettoNames::add_event_name(std::string& event, NameId id) {
  Name& known = name(id);
  if (!std::exchange(known.is_event, true)) {
    intern(InternedField::event_names, name_iid(id), known.text);
  }
  EventBuilder(event).add_uint64(EventField::name_iid, name_iid(id));
}

void PerfettoNames::add_category(std::string& event, NameId id) {
  Name& known = name(id);
  if (!std::exchange(known.is_category, true)) {
    intern(InternedField::event_categories, first_name_category + id.value(), known.text);
  }
  EventBuilder(event).add_uint64(EventField::category_iids, first_name_category + id.value());
}

void PerfettoNames::add_category(std::string& event, Category category) {
  EventBuilder(event).add_uint64(EventField::category_iids, static_cast<std::uint64_t>(category));
}

void PerfettoNames::intern(InternedField kind, std::uint64_t iid, std::string_view text) {
  protozero::pbf_builder<TraceField> trace(trace_);
  PacketBuilder packet(trace, TraceField::packet);
  packet.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::sequence_id);
  packet.add_uint32(PacketField::sequence_flags, perfetto::needs_state);
  protozero::pbf_builder<InternedField> data(packet, PacketField::interned_data);
  protozero::pbf_builder<InternedTextField> entry(data, kind);
  entry.add_uint64(InternedTextField::iid, iid);
  entry.add_string(InternedTextField::name, text.data(), text.size());
}

std::uint64_t PerfettoNames::new_number(std::map<std::uint64_t, bool>& used, std::uint64_t wish) {
  // A thread ID can be reused after its thread has ended, and may occur on another host.
  const bool is_free = wish != 0 && wish <= greatest_system_number && used.try_emplace(wish, true).second;
  return is_free ? wish : ++last_made_number_;
}

}  // namespace kymo::exchange
