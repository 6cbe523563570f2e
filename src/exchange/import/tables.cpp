#include "exchange/import/tables.hpp"

#include <charconv>
#include <system_error>

namespace kymo::exchange {
namespace {

constexpr std::size_t most_names = std::size_t{1} << 20U;
constexpr std::size_t most_name_bytes = std::size_t{64} << 20U;
constexpr std::size_t most_others = std::size_t{1} << 16U;
constexpr std::string_view other_name = "(one of too many names)";

/// Parses a number; 0 if the text is not one.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

/// Whether a process's label names a device: "GPU 0".
bool is_device(std::string_view label) {
  return label.substr(0, 4) == "GPU ";
}

/// Takes the labels off "power {rail=GPU, board=1}", the form kymo's own traces use. `name` becomes "power".
std::vector<std::pair<std::string, std::string>> take_labels(std::string_view& name) {
  std::vector<std::pair<std::string, std::string>> labels;
  const std::size_t begin = name.find(" {");
  if (begin == std::string_view::npos || name.back() != '}') {
    return labels;
  }
  std::string_view rest = name.substr(begin + 2, name.size() - begin - 3);
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find(", "));
    const std::size_t equals = label.find('=');
    if (equals == std::string_view::npos) {
      return {};
    }
    labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
    rest.remove_prefix(label.size() + 2 < rest.size() ? label.size() + 2 : rest.size());
  }
  name = name.substr(0, begin);
  return labels;
}

}  // namespace

std::pair<std::uint32_t, bool> ImportTables::find_or_add(Texts& table, std::string_view key, std::string_view what) {
  if (const auto place = table.find(key); place != table.end()) {
    return {place->second, false};
  }
  if (table.size() >= most_others) {
    losses_.damage(std::string("events of ").append(what).append(" beyond 65,536"));
    return {0, false};
  }
  const auto id = static_cast<std::uint32_t>(table.size() + 1);
  table.emplace(key, id);
  return {id, true};
}

void ImportTables::make_key(char kind, std::uint32_t id, std::string_view first, std::string_view second) {
  key_ = kind;
  key_ += std::to_string(id);
  key_ += ' ';
  key_ += std::to_string(first.size());
  key_ += ' ';
  key_.append(first).append(second);
}

ProcessId ImportTables::process(std::string_view pid) {
  const auto [id, is_new] = find_or_add(processes_, pid, "processes");
  if (is_new) {
    ProcessDeclaration& process = declarations_.processes.emplace_back();
    process.id = ProcessId{id};
    process.pid = number_of(pid);
    if (process.pid == 0 && pid != "0") {
      process.command_line = pid;
    }
  }
  return ProcessId{id};
}

TrackId ImportTables::track(const NewTrack& track, char kind, std::string_view key) {
  if (!track.process) {
    return {};
  }
  make_key(kind, track.process.value(), key, {});
  const auto [id, is_new] = find_or_add(tracks_, key_, "threads and lanes");
  if (is_new) {
    declarations_.tracks.push_back({TrackId{id}, track.kind, track.process, track.number, std::string(track.name)});
    track_keys_.push_back(key_);
  }
  return TrackId{id};
}

TrackId ImportTables::thread(std::string_view pid, std::string_view tid) {
  if (last_thread_ && tid == last_tid_ && pid == last_pid_) {
    return last_thread_;
  }
  const std::uint64_t number = number_of(tid);
  const std::string_view name = number == 0 && tid != "0" ? tid : std::string_view();
  last_thread_ = track({TrackKind::thread, process(pid), number, name}, 't', tid);
  last_pid_ = pid;
  last_tid_ = tid;
  return last_thread_;
}

TrackId ImportTables::lane(std::string_view pid, std::string_view category) {
  const std::string_view name = category.empty() ? "async" : category;
  return track({TrackKind::async, process(pid), 0, name}, 'a', category);
}

NameId ImportTables::name(std::string_view text) {
  if (const auto place = names_.find(text); place != names_.end()) {
    return NameId{place->second};
  }
  if (names_.size() >= most_names || name_bytes_ + text.size() > most_name_bytes) {
    losses_.damage("names beyond a million or 64 MiB");
    if (const auto place = names_.find(other_name); place != names_.end()) {
      return NameId{place->second};
    }
    text = other_name;
  }
  const auto id = NameId::from_index(names_.size());
  names_.emplace(text, id.value());
  name_bytes_ += text.size();
  declarations_.names.push_back({id, std::string(text)});
  return id;
}

NameId ImportTables::category(std::string_view text) {
  const NameId id = name(text);
  category_texts_.try_emplace(id, text);
  return id;
}

SiteId ImportTables::site(ProcessId process, std::string_view text, SiteKind kind) {
  NameId of_name = name(text);
  if (sites_.size() >= most_names) {
    of_name = name(other_name);
  }
  const std::uint64_t owner = std::uint64_t{process.value()} << 8U | static_cast<std::uint64_t>(kind);
  const auto [place, is_new] = sites_.try_emplace({owner, of_name.value()}, SiteId::from_index(site_names_.size()));
  if (is_new) {
    SiteDeclaration& site = declarations_.sites.emplace_back();
    site.id = place->second;
    site.kind = kind;
    site.process = process;
    site.name = declarations_.names[of_name.index()].text;
    site_names_.push_back(of_name);
  }
  return place->second;
}

MetricId ImportTables::metric(std::string_view pid, std::string_view name, std::string_view series, bool is_unit) {
  const ProcessId owner = process(pid);
  if (!owner) {
    return {};
  }
  make_key(is_unit ? 'u' : 'm', owner.value(), name, series);
  const auto [id, is_new] = find_or_add(metrics_, key_, "counters");
  if (is_new) {
    MetricDeclaration& metric = declarations_.metrics.emplace_back();
    metric.id = MetricId{id};
    metric.process = owner;
    if (is_unit) {
      metric.labels = take_labels(name);
      metric.unit = series == "value" ? std::string_view() : series;
    } else if (series != "value") {
      metric.labels.emplace_back("series", series);
    }
    metric.name = name;
  }
  return MetricId{id};
}

FrameStreamId ImportTables::frames(std::string_view pid, std::string_view name) {
  const ProcessId owner = process(pid);
  if (!owner) {
    return {};
  }
  make_key('f', owner.value(), name, {});
  const auto [id, is_new] = find_or_add(frames_, key_, "frame streams");
  if (is_new) {
    declarations_.frame_streams.push_back(
        {FrameStreamId{id}, owner, name == "frame" ? std::string() : std::string(name)});
  }
  return FrameStreamId{id};
}

void ImportTables::name_process(std::string_view pid, std::string_view name) {
  if (const ProcessId id = process(pid)) {
    declarations_.processes[id.index()].command_line = name;
  }
}

void ImportTables::label_process(std::string_view pid, std::string_view labels) {
  if (const ProcessId id = process(pid); id && declarations_.infos.size() < most_others) {
    declarations_.infos.push_back({id, "process_labels", std::string(labels)});
    labels_[id] = labels;
  }
}

void ImportTables::name_thread(std::string_view pid, std::string_view tid, std::string_view name) {
  const ProcessId owner = process(pid);
  if (!owner) {
    return;
  }
  // The thread's track is created by its first event: the name may belong to a lane only.
  make_key('t', owner.value(), tid, {});
  const auto [place, is_new] = find_or_add(thread_names_, key_, "names of threads");
  if (is_new) {
    thread_name_texts_.emplace_back(name);
  } else if (place != 0) {
    thread_name_texts_[place - 1] = name;
  }
}

/// Prefixes a queue's name with its device: "GPU 0 stream 7".
void ImportTables::name_queues() {
  for (TrackDeclaration& track : declarations_.tracks) {
    if (queues_.count(track.id) == 0 || nesting_.count(track.id) != 0) {
      continue;
    }
    track.kind = TrackKind::queue;
    while (!track.name.empty() && track.name.back() == ' ') {
      track.name.pop_back();
    }
    if (track.name.empty()) {
      track.name = "stream " + std::to_string(track.os_thread_id);
    }
    track.os_thread_id = 0;
    const ProcessDeclaration& process = declarations_.processes[track.process.index()];
    const std::string& label = labels_[process.id];
    track.name.insert(0, (is_device(label) ? label : "GPU " + std::to_string(process.pid)) + ' ');
  }
}

/// torch.profiler shows each GPU as a process of its own. Assigns them to the process that used them if it is known.
void ImportTables::fold_devices() {
  ProcessId user;
  std::set<ProcessId> devices;
  for (const ProcessDeclaration& process : declarations_.processes) {
    const std::string& label = labels_[process.id];
    if (label == "CPU") {
      if (user) {
        return;
      }
      user = process.id;
    } else if (is_device(label)) {
      devices.insert(process.id);
    }
  }
  for (const TrackDeclaration& track : declarations_.tracks) {
    if (track.kind != TrackKind::queue) {
      devices.erase(track.process);
    }
  }
  if (!user || devices.empty()) {
    return;
  }
  const auto fold = [&](auto& rows) {
    for (auto& row : rows) {
      row.process = devices.count(row.process) != 0 ? user : row.process;
    }
  };
  fold(declarations_.tracks);
  fold(declarations_.sites);
  fold(declarations_.metrics);
  fold(declarations_.frame_streams);
  std::erase_if(declarations_.infos, [&](const InfoDeclaration& info) { return devices.count(info.process) != 0; });
  std::erase_if(declarations_.processes,
                [&](const ProcessDeclaration& process) { return devices.count(process.id) != 0; });
}

Declarations ImportTables::take_declarations() {
  if (declarations_.processes.empty()) {
    declarations_.processes.emplace_back().id = ProcessId{1};
  }
  for (TrackDeclaration& track : declarations_.tracks) {
    if (const auto name = thread_names_.find(track_keys_[track.id.index()]); name != thread_names_.end()) {
      track.name = thread_name_texts_[name->second - 1];
    }
  }
  name_queues();
  fold_devices();
  return std::move(declarations_);
}

}  // namespace kymo::exchange
