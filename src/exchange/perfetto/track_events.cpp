// The Perfetto reader's descriptors and events; event_reader.cpp has packets, interned texts and clocks.
#include <cstring>

#include "base/text/text.hpp"
#include "exchange/perfetto/event_reader.hpp"
#include "exchange/perfetto/fields.hpp"

namespace kymo::exchange {

using perfetto::Fields;

namespace {

constexpr std::size_t most_tracks = std::size_t{1} << 16U;
constexpr std::size_t most_flows = std::size_t{1} << 20U;
constexpr std::size_t most_nested_values = 16;
constexpr std::size_t most_parents = 32;
constexpr std::uint64_t slice_begin = 1;
constexpr std::uint64_t slice_end = 2;
constexpr std::uint64_t instant = 3;
constexpr std::uint64_t counter = 4;

std::string decimal(std::uint64_t number) {
  // Numbers of processes and threads are 32-bit integers.
  return std::to_string(static_cast<std::int32_t>(number));
}

/// Whether an event has an argument "number" alone, as kymo's own frames have.
bool has_number(const ChromeEvent& event) {
  return event.arguments.size() == 1 && event.arguments[0].key == "number" &&
         (event.arguments[0].type == ArgumentType::int64 || event.arguments[0].type == ArgumentType::uint64);
}

}  // namespace

void PerfettoEventReader::add_metadata(std::string_view name, const Track& track, std::string_view text) {
  ChromeEvent& event = add_event();
  event.phase = "M";
  event.name = name;
  event.process = track.pid;
  event.thread = track.tid;
  event.arguments.add_text("name", text, false);
}

void PerfettoEventReader::take_process(Track& track, std::string_view bytes) {
  std::string name;
  std::string command;
  std::string labels;
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 1) {
      track.pid = decimal(field.number());
    } else if (field.tag() == 2) {
      command += (command.empty() ? "" : " ") + name_of(field.bytes());
    } else if (field.tag() == 6) {
      name = name_of(field.bytes());
    } else if (field.tag() == 8) {
      labels += (labels.empty() ? "" : ", ") + name_of(field.bytes());
    }
  }
  if (!name.empty() || !command.empty()) {
    add_metadata("process_name", track, name.empty() ? command : name);
  }
  if (!labels.empty()) {
    add_metadata("process_labels", track, labels);
  }
}

void PerfettoEventReader::take_thread(Track& track, std::string_view bytes) {
  std::string name;
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 1) {
      track.pid = decimal(field.number());
    } else if (field.tag() == 2) {
      track.tid = decimal(field.number());
    } else if (field.tag() == 5) {
      name = name_of(field.bytes());
    }
  }
  track.is_thread = true;
  if (!name.empty()) {
    add_metadata("thread_name", track, name);
  }
}

void PerfettoEventReader::take_counter(Track& track, std::string_view bytes) {
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 3 && field.number() != 0) {
      track.unit = field.number() == 1 ? "ns" : field.number() == 3 ? "B" : "";
    } else if (field.tag() == 4) {
      track.multiplier = field.number() == 0 ? 1 : static_cast<double>(static_cast<std::int64_t>(field.number()));
    } else if (field.tag() == 5) {
      track.is_incremental = field.number() != 0;
    } else if (field.tag() == 6) {
      track.unit = name_of(field.bytes());
    }
  }
}

void PerfettoEventReader::take_tree(std::string_view bytes) {
  for (Fields field(bytes); field.next();) {
    Track track;
    std::string text;
    for (Fields part(field.bytes()); part.next();) {
      const bool has_pid = (field.tag() == 1 && part.tag() == 1) || (field.tag() == 2 && part.tag() == 3);
      if (has_pid) {
        track.pid = decimal(part.number());
      } else if (field.tag() == 1 && part.tag() == 3) {
        text += (text.empty() ? "" : " ") + name_of(part.bytes());
      } else if (field.tag() == 2 && part.tag() == 1) {
        track.tid = decimal(part.number());
      } else if (field.tag() == 2 && part.tag() == 2) {
        text = name_of(part.bytes());
      }
    }
    if (field.tag() <= 2 && !text.empty()) {
      add_metadata(field.tag() == 1 ? "process_name" : "thread_name", track, text);
    }
  }
}

void PerfettoEventReader::take_track(std::string_view bytes) {
  std::uint64_t uuid = 0;
  for (Fields field(bytes); field.next();) {
    uuid = field.tag() == 1 ? field.number() : uuid;
  }
  if (tracks_.size() >= most_tracks && tracks_.count(uuid) == 0) {
    losses_.damage("tracks beyond 65,536");
    return;
  }
  Track& track = tracks_[uuid];
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 2 || field.tag() == 10 || field.tag() == 13) {
      track.name = name_of(field.bytes());
    } else if (field.tag() == 3) {
      track.is_process = true;
      take_process(track, field.bytes());
    } else if (field.tag() == 4) {
      take_thread(track, field.bytes());
    } else if (field.tag() == 5) {
      track.parent = field.number();
    } else if (field.tag() == 8) {
      take_counter(track, field.bytes());
    }
  }
}

void PerfettoEventReader::place(ChromeEvent& event, std::uint64_t uuid, Track*& track) {
  track = nullptr;
  if (const auto own = tracks_.find(uuid); own != tracks_.end()) {
    track = &own->second;
  }
  // A track that says nothing of a process belongs to the one above it.
  auto above = tracks_.find(uuid);
  for (std::size_t level = 0; level < most_parents && above != tracks_.end(); ++level) {
    if (above->second.is_thread || above->second.is_process) {
      event.process = above->second.pid;
      event.thread = above->second.is_thread ? above->second.tid : above->second.pid;
      break;
    }
    above = tracks_.find(above->second.parent);
  }
  if (track == nullptr || !track->is_thread) {
    event.lane = track == nullptr ? "" : track->name;
    event.is_on_lane = track == nullptr || !track->is_process;
  }
}

void PerfettoEventReader::take_annotation(Sequence& sequence, ChromeEvent& event, std::string key,
                                          std::string_view bytes, std::size_t depth) {
  std::string name;
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 1) {
      name = text_of(sequence, annotation_names, field.number());
    } else if (field.tag() == 10) {
      name = name_of(field.bytes());
    }
  }
  if (!name.empty()) {
    key += (key.empty() ? "" : ".") + name;
    key.resize(base::cut_text(key, ChromeArguments::longest_key).size());
  }
  std::size_t elements = 0;
  for (Fields field(bytes); field.next();) {
    if (event.arguments.is_full()) {
      losses_.ignore("arguments beyond 256 or 64 KiB of one event");
      return;
    }
    const std::uint64_t number = field.number();
    switch (field.tag()) {
      case 2:
        event.arguments.add_number(key, ArgumentType::boolean, number != 0 ? 1 : 0);
        break;
      case 3:
      case 7:
        event.arguments.add_number(key, ArgumentType::uint64, number);
        break;
      case 4:
        event.arguments.add_number(key, ArgumentType::int64, number);
        break;
      case 5:
        event.arguments.add_number(key, ArgumentType::float64, number);
        break;
      case 6:
      case 9:
        event.arguments.add_text(key, name_of(field.bytes()), false);
        break;
      case 17:
        event.arguments.add_text(key, text_of(sequence, string_values, number), false);
        break;
      case 11:
      case 12:
        if (depth < most_nested_values) {
          take_annotation(sequence, event, field.tag() == 12 ? key + '[' + std::to_string(elements++) + ']' : key,
                          field.bytes(), depth + 1);
        } else {
          losses_.ignore("arguments more than 16 deep");
        }
        break;
      case 8:
      case 14:
        losses_.ignore("arguments that are messages of other formats");
        break;
      default:
        break;
    }
  }
}

void PerfettoEventReader::take_legacy(ChromeEvent& event, std::string_view bytes) {
  for (Fields field(bytes); field.next();) {
    if (field.tag() == 2) {
      event.phase = std::string(1, static_cast<char>(field.number() & 0x7FU));
    } else if (field.tag() == 3) {
      std::int64_t ns = 0;
      const bool is_wide = __builtin_mul_overflow(static_cast<std::int64_t>(field.number()), std::int64_t{1000}, &ns);
      event.duration = {
          is_wide || ns > (std::int64_t{1} << 62U) ? ChromeTime::Kind::out_of_range : ChromeTime::Kind::sound, ns};
    } else if (field.tag() == 6 || field.tag() == 10 || field.tag() == 11) {
      event.id = std::to_string(field.number());
    } else if (field.tag() == 18) {
      event.process = decimal(field.number());
    } else if (field.tag() == 19) {
      event.thread = decimal(field.number());
    }
  }
}

void PerfettoEventReader::add_flow(const ChromeEvent& at, std::uint64_t id, bool is_last) {
  const bool is_known = flows_.count(id) != 0;
  if (!is_known && flows_.size() < most_flows) {
    flows_.insert(id);
  }
  ChromeEvent& flow = add_event();
  flow.phase = !is_known ? "s" : is_last ? "f" : "t";
  flow.name = "flow";
  flow.category = "flow";
  flow.id = std::to_string(id);
  flow.time = at.time;
  flow.process = at.process;
  flow.thread = at.thread;
  flow.lane = at.lane;
  flow.is_on_lane = at.is_on_lane;
}

void PerfettoEventReader::take_counter_value(ChromeEvent& event, Track& track, double value) {
  value *= track.multiplier;
  if (track.is_incremental) {
    track.value += value;
    value = track.value;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  event.phase = "C";
  event.category = "metric";
  event.name = track.name;
  event.arguments.clear();
  event.arguments.add_number(track.unit.empty() ? std::string_view("value") : std::string_view(track.unit),
                             ArgumentType::float64, bits);
}

bool PerfettoEventReader::place_slice(ChromeEvent& event, Track& track, std::uint64_t uuid, bool is_begin) {
  if (track.is_thread) {
    event.phase = is_begin ? "B" : "E";
    return true;
  }
  if (!is_begin && track.is_in_frame) {
    track.is_in_frame = false;
    const ChromeTime end = event.time;
    event = track.frame;
    event.phase = "X";
    event.duration = {end.kind, end.ns - event.time.ns};
    return true;
  }
  if (is_begin && event.category == "frame" && has_number(event) && !track.is_in_frame &&
      event.time.kind == ChromeTime::Kind::sound) {
    track.is_in_frame = true;
    track.frame = event;
    return false;
  }
  event.phase = is_begin ? "b" : "e";
  event.id = std::to_string(uuid);
  event.category = track.is_process && track.name.empty() ? "process" : track.name;
  return true;
}

void PerfettoEventReader::take_event(const Packet& packet, Sequence& sequence, ChromeTime time) {
  std::uint64_t uuid = sequence.track != 0 ? sequence.track : sequence.own_track;
  std::uint64_t type = 0;
  double value = 0;
  std::string_view legacy;
  std::vector<std::pair<std::uint64_t, bool>> flows;
  ChromeEvent event;
  event.time = time;
  const auto add_category = [&event](std::string_view category) {
    event.category.append(event.category.empty() ? "" : ",").append(category);
  };
  for (Fields field(packet.event); field.next();) {
    switch (field.tag()) {
      case 3:
        add_category(text_of(sequence, categories, field.number()));
        break;
      case 4:
        take_annotation(sequence, event, {}, field.bytes(), 0);
        break;
      case 6:
        legacy = field.bytes();
        break;
      case 9:
        type = field.number();
        break;
      case 10:
        event.name = text_of(sequence, names, field.number());
        break;
      case 11:
        uuid = field.number();
        break;
      case 12:
      case 45:
        losses_.ignore("counters beside slices");
        break;
      case 22:
        add_category(name_of(field.bytes()));
        break;
      case 23:
        event.name = name_of(field.bytes());
        break;
      case 30:
        value = static_cast<double>(static_cast<std::int64_t>(field.number()));
        break;
      case 44:
        value = field.real();
        break;
      case 36:
      case 47:
        flows.emplace_back(field.number(), false);
        break;
      case 42:
      case 48:
        flows.emplace_back(field.number(), true);
        break;
      default:
        break;
    }
  }
  Track* track = nullptr;
  place(event, uuid, track);
  if (track == nullptr && (type == slice_begin || type == slice_end || type == counter)) {
    if (uuid != 0 && type != slice_end) {
      losses_.ignore("events of tracks that no packet has described before");
    }
    if (tracks_.size() >= most_tracks) {
      return;
    }
    track = &tracks_[uuid];
  }
  bool is_whole = true;
  if (type == slice_begin || type == slice_end) {
    is_whole = place_slice(event, *track, uuid, type == slice_begin);
  } else if (type == counter) {
    take_counter_value(event, *track, value);
  } else if (type == instant) {
    event.phase = "i";
  } else if (!legacy.empty()) {
    take_legacy(event, legacy);
  } else {
    losses_.damage("track events without a type");
    return;
  }
  if (event.category == "kymo" && event.name == "run" && event.phase == "i") {
    for (std::size_t i = 0; i < event.arguments.size() && facts_.size() < 4096; ++i) {
      std::string text;
      append_argument_text(text, event.arguments[i]);
      facts_.emplace_back(event.arguments[i].key, std::move(text));
    }
    return;
  }
  if (is_whole) {
    add_event() = event;
  }
  for (const auto& [id, is_last] : flows) {
    add_flow(event, id, is_last);
  }
}

}  // namespace kymo::exchange
