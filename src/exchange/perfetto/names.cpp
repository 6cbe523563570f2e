#include "exchange/perfetto/names.hpp"

#include <array>
#include <utility>

#include "exchange/common/export_names.hpp"

namespace kymo::exchange {

using perfetto::CounterField;
using perfetto::DefaultsField;
using perfetto::EventBuilder;
using perfetto::EventField;
using perfetto::EventType;
using perfetto::InternedField;
using perfetto::Packet;
using perfetto::PacketField;
using perfetto::ProcessField;
using perfetto::ThreadField;
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

std::string place_of(std::uint64_t uuid) {
  std::string place;
  EventBuilder(place).add_uint64(EventField::track_uuid, uuid);
  return place;
}

}  // namespace

void PerfettoNames::begin(std::int64_t start_ns) {
  {
    Packet packet(trace_, perfetto::sequence_id, perfetto::state_cleared);
    protozero::pbf_builder<DefaultsField> defaults(packet, PacketField::trace_packet_defaults);
    defaults.add_uint32(DefaultsField::timestamp_clock_id, perfetto::monotonic_clock);
  }
  static_cast<void>(Packet(trace_, perfetto::descriptor_sequence_id, perfetto::state_cleared));
  perfetto::append_clock_snapshot(trace_, {{perfetto::monotonic_clock, start_ns}});
  for (std::size_t i = 0; i < category_names.size(); ++i) {
    append_interned_text(trace_, InternedField::event_categories, i + 1, category_names[i]);
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
  Packet packet(trace_, perfetto::descriptor_sequence_id);
  TrackBuilder track(packet, PacketField::track_descriptor);
  track.add_uint64(TrackField::uuid, known.uuid);
  protozero::pbf_builder<ProcessField> process(track, TrackField::process);
  process.add_int32(ProcessField::pid, static_cast<std::int32_t>(known.pid));
  if (!declaration.command_line.empty()) {
    process.add_string(ProcessField::process_name, valid_text(cut_with_mark(declaration.command_line, 256)));
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
  append_interned_text(trace_, InternedField::event_names, site_iid(declaration.id),
                       valid_text(site_name(declaration)));
  std::string& begin = sites_.get(declaration.id);
  begin.clear();
  EventBuilder event(begin);
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
    track.uuid = ++last_uuid_;
    track.place = place_of(track.uuid);
    EventBuilder(track.scope_end).add_enum(EventField::type, static_cast<std::int32_t>(EventType::slice_end));
    track.scope_end += track.place;
    if (track.kind == TrackKind::thread) {
      track.thread_number = new_number(used_tids_, declaration.os_thread_id);
    }
  }
  if (track.kind == TrackKind::async) {
    return;  // its spans are drawn on separate rows
  }
  const Process& owner = process(track.process);
  Packet packet(trace_, perfetto::descriptor_sequence_id);
  TrackBuilder descriptor(packet, PacketField::track_descriptor);
  descriptor.add_uint64(TrackField::uuid, track.uuid);
  descriptor.add_uint64(TrackField::parent_uuid, owner.uuid);
  if (track.kind == TrackKind::thread) {
    protozero::pbf_builder<ThreadField> thread(descriptor, TrackField::thread);
    thread.add_int32(ThreadField::pid, static_cast<std::int32_t>(owner.pid));
    thread.add_int32(ThreadField::tid, static_cast<std::int32_t>(track.thread_number));
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
    Packet packet(trace_, perfetto::descriptor_sequence_id);
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
  std::string& head = metrics_.get(declaration.id);
  head.clear();
  EventBuilder event(head);
  event.add_enum(EventField::type, static_cast<std::int32_t>(EventType::counter));
  event.add_uint64(EventField::track_uuid, uuid);
}

std::string_view PerfettoNames::site(SiteId id) {
  return sites_.find_or(id, [&] { declare_site(lost_site(id)); });
}

PerfettoTrack& PerfettoNames::track(TrackId id) {
  return tracks_.find_or(id, [&] { declare_track(lost_track(id)); });
}

const std::string& PerfettoNames::metric(MetricId id) {
  return metrics_.find_or(id, [&] { declare_metric(lost_metric(id)); });
}

PerfettoFrames& PerfettoNames::frames(FrameStreamId id) {
  return frames_.find_or(id, [&] {
    const FrameStreamDeclaration* const declared = streams_.find(id);
    const FrameStreamDeclaration stream = declared != nullptr ? *declared : lost_frames(id);
    PerfettoFrames& frames = frames_.get(id);
    frames.walk = capture::FrameWalk::after_frames(frames_before_.of(id));
    frames.name = stream.name.empty() ? "frame" : valid_text(stream.name);
    frames.place = new_place(stream.process, frames.name == "frame" ? "frames" : "frames: " + frames.name);
  });
}

PerfettoThread& PerfettoNames::thread(ThreadId id) {
  return threads_.find_or(id, [&] { threads_.get(id).place = new_row(id, "states"); });
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
  Packet packet(trace_, perfetto::descriptor_sequence_id);
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
  return names_.find_or(id, [&] { names_.get(id).text = lost_name("name", id); });
}

std::string_view PerfettoNames::annotation_name(NameId id) {
  Name& known = name(id);
  if (id && !std::exchange(known.is_annotation, true)) {
    append_interned_text(trace_, InternedField::debug_annotation_names, id.value(), known.text);
  }
  return known.text;
}

void PerfettoNames::add_event_name(std::string& event, NameId id) {
  Name& known = name(id);
  if (!std::exchange(known.is_event, true)) {
    append_interned_text(trace_, InternedField::event_names, name_iid(id), known.text);
  }
  EventBuilder(event).add_uint64(EventField::name_iid, name_iid(id));
}

void PerfettoNames::add_category(std::string& event, NameId id) {
  Name& known = name(id);
  if (!std::exchange(known.is_category, true)) {
    append_interned_text(trace_, InternedField::event_categories, first_name_category + id.value(), known.text);
  }
  EventBuilder(event).add_uint64(EventField::category_iids, first_name_category + id.value());
}

void PerfettoNames::add_category(std::string& event, Category category) {
  EventBuilder(event).add_uint64(EventField::category_iids, static_cast<std::uint64_t>(category));
}

std::uint64_t PerfettoNames::new_number(std::map<std::uint64_t, bool>& used, std::uint64_t wish) {
  // A thread ID can be reused after its thread has ended, and may occur on another host.
  const bool is_free = wish != 0 && wish <= greatest_system_number && used.try_emplace(wish, true).second;
  return is_free ? wish : ++last_made_number_;
}

}  // namespace kymo::exchange
