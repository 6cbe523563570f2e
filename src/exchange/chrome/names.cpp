#include "exchange/chrome/names.hpp"

#include <algorithm>

#include "base/text/json_text.hpp"
#include "exchange/common/export_names.hpp"

namespace kymo::exchange {
namespace {

// Viewers draw threads by ascending sort index: frames first, then threads, then everything else.
constexpr std::uint64_t first_thread_index = 100'000;
constexpr std::uint64_t first_lane_index = 1'000'000'000;

std::string json_text(std::string_view text) {
  std::string out;
  base::append_json_text(out, text);
  return out;
}

/// `{"name":"cull","cat":"scope","ph":"X","ts":`. The name is JSON text.
std::string event_head(std::string_view name, std::string_view category, char phase) {
  std::string head = "{\"name\":\"";
  head += name;
  head += "\",\"cat\":\"";
  head += category;
  head += "\",\"ph\":\"";
  head += phase;
  head += "\",\"ts\":";
  return head;
}

}  // namespace

std::string chrome_place(std::uint64_t pid, std::uint64_t tid) {
  return ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid);
}

void ChromeNames::declare(const Declarations& declarations) {
  for (const ProcessDeclaration& process : declarations.processes) {
    declare_process(process);
  }
  for (const InfoDeclaration& info : declarations.infos) {
    declare_info(info);
  }
  for (const NameDeclaration& name : declarations.names) {
    declare_name(name.id, name.text);
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
    declare_frames(stream);
  }
  for (const ThreadDeclaration& thread : declarations.threads) {
    declared_threads_[thread.id] = thread;
  }
}

void ChromeNames::declare_process(const ProcessDeclaration& process) {
  // Two hosts of a merged trace may have used the same process ID.
  if (pids_.find(process.id) == pids_.end() && process.pid != 0 && process.pid <= greatest_system_number &&
      used_pids_.try_emplace(process.pid, process.id).second) {
    pids_[process.id] = process.pid;
  }
  boot_ids_[process.id] = process.boot_id;
  const std::string place = ",\"pid\":" + std::to_string(pid(process.id));
  if (!process.command_line.empty()) {
    write_metadata("process_name", place, "name", json_text(cut_with_mark(process.command_line, 256)));
  }
  std::string labels = process.host;
  if (!process.rank.empty()) {
    labels += (labels.empty() ? "rank " : ", rank ") + process.rank;
  }
  if (!labels.empty()) {
    write_metadata("process_labels", place, "labels", json_text(labels));
  }
}

void ChromeNames::declare_name(NameId id, std::string_view text) {
  names_.get(id) = json_text(text);
}

void ChromeNames::declare_site(const SiteDeclaration& site) {
  const bool is_function = site.kind == SiteKind::function || site.kind == SiteKind::hooked;
  const char* const category = site.role == SiteRole::wait ? "wait" : is_function ? "function" : "scope";
  sites_.get(site.id) = event_head(json_text(site_name(site)), category, 'X');
}

void ChromeNames::declare_track(const TrackDeclaration& declaration) {
  const bool is_new = tracks_.find(declaration.id) == nullptr;
  ChromeTrack& track = tracks_.get(declaration.id);
  if (is_new) {
    const bool is_thread = declaration.kind == TrackKind::thread;
    track.kind = declaration.kind;
    track.process = declaration.process;
    track.tid = new_tid(is_thread ? declaration.os_thread_id : 0);
    track.place = chrome_place(pid(track.process), track.tid);
    write_sort_index(track.place, (is_thread ? first_thread_index : first_lane_index) + tracks().size());
  }
  track.name = json_text(declaration.name);
  if (!track.name.empty()) {
    write_metadata("thread_name", track.place, "name", track.name);
  }
}

void ChromeNames::declare_metric(const MetricDeclaration& declaration) {
  ChromeText& metric = metrics_.get(declaration.id);
  metric.head = event_head(json_text(metric_name(declaration)), "metric", 'C');
  metric.tail = ",\"pid\":" + std::to_string(pid(declaration.process)) + ",\"args\":{\"" +
                (declaration.unit.empty() ? "value" : json_text(declaration.unit)) + "\":";
}

void ChromeNames::declare_frames(const FrameStreamDeclaration& stream) {
  ChromeFrames& frames = frames_.get(stream.id);
  frames.process = stream.process;
  frames.name = stream.name.empty() ? "frame" : json_text(stream.name);
  frames.head = event_head(frames.name, "frame", 'X');
}

void ChromeNames::declare_info(const InfoDeclaration& info) {
  if (stream_.container() == TraceContainer::array) {
    return;
  }
  facts_[info.process == ProcessId{1} ? info.key
                                      : "process " + std::to_string(info.process.value()) + ": " + info.key] =
      info.value;
}

std::string_view ChromeNames::site(SiteId id) {
  return sites_.find_or(id, [&] { declare_site(lost_site(id)); });
}

std::string_view ChromeNames::name(NameId id) {
  return names_.find_or(id, [&] { declare_name(id, lost_name("name", id)); });
}

ChromeTrack& ChromeNames::track(TrackId id) {
  return tracks_.find_or(id, [&] { declare_track(lost_track(id)); });
}

const ChromeText& ChromeNames::metric(MetricId id) {
  return metrics_.find_or(id, [&] { declare_metric(lost_metric(id)); });
}

ChromeFrames& ChromeNames::frames(FrameStreamId id) {
  ChromeFrames& frames = frames_.find_or(id, [&] { declare_frames(lost_frames(id)); });
  if (frames.place.empty()) {
    frames.walk = capture::FrameWalk::after_frames(frames_before_.of(id));
    frames.place = chrome_place(pid(frames.process), new_tid(0));
    write_metadata("thread_name", frames.place, "name", frames.name == "frame" ? "frames" : "frames: " + frames.name);
    write_sort_index(frames.place, std::min<std::uint64_t>(id.value(), first_thread_index));
  }
  return frames;
}

/// The row is beside those of the thread's own process, if that is in the trace, else of its observer.
ChromeThread& ChromeNames::thread(ThreadId id) {
  return threads_.find_or(id, [&] {
    const ThreadDeclaration& declared = declared_threads_[id];
    const auto owner = used_pids_.find(declared.pid);
    const bool is_own = owner != used_pids_.end() && boot_ids_[owner->second] == boot_ids_[declared.process];
    ChromeThread& made = threads_.get(id);
    made.place = chrome_place(pid(is_own ? owner->second : declared.process), new_tid(0));
    const std::string name = declared.name.empty() ? "thread" : json_text(declared.name);
    write_metadata("thread_name", made.place, "name",
                   "states of " + name + " " + std::to_string(declared.os_thread_id));
    write_sort_index(made.place, first_lane_index + std::uint64_t{id.value()});
  });
}

std::uint64_t ChromeNames::pid(ProcessId process) {
  const auto [place, is_new] = pids_.try_emplace(process, 0);
  if (is_new && !used_pids_.try_emplace(0, process).second) {
    place->second = ++last_made_number_;
  }
  return place->second;
}

std::uint64_t ChromeNames::new_tid(std::uint64_t wish) {
  // A thread ID can be reused after its thread has ended, and may occur on another host.
  const bool is_free = wish != 0 && wish <= greatest_system_number && used_tids_.try_emplace(wish, 0).second;
  return is_free ? wish : ++last_made_number_;
}

void ChromeNames::write_metadata(std::string_view what, std::string_view place, std::string_view key,
                                 std::string_view value) {
  std::string& out = stream_.begin_event();
  out.append("{\"name\":\"").append(what).append("\",\"ph\":\"M\"").append(place);
  out.append(",\"args\":{\"").append(key).append("\":\"").append(value).append("\"}}");
}

void ChromeNames::write_sort_index(std::string_view place, std::uint64_t index) {
  std::string& out = stream_.begin_event();
  out.append("{\"name\":\"thread_sort_index\",\"ph\":\"M\"").append(place).append(",\"args\":{\"sort_index\":");
  base::append_json_integer(out, index);
  out += "}}";
}

}  // namespace kymo::exchange
