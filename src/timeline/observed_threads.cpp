#include "timeline/observed_threads.hpp"

#include <map>
#include <string>
#include <tuple>

namespace kymo::timeline {

std::unordered_map<TrackId, std::vector<ThreadId>> threads_of_tracks(const Declarations& declared) {
  using Key = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;  // host, boot, pid, thread
  std::unordered_map<ProcessId, ProcessDeclaration> processes;
  for (const ProcessDeclaration& process : declared.processes) {
    processes[process.id] = process;
  }
  std::map<Key, std::vector<ThreadId>> known;
  for (const ThreadDeclaration& thread : declared.threads) {
    const ProcessDeclaration& observer = processes[thread.process];
    known[{observer.host, observer.boot_id, thread.pid, thread.os_thread_id}].push_back(thread.id);
  }
  std::unordered_map<TrackId, std::vector<ThreadId>> threads;
  for (const TrackDeclaration& track : declared.tracks) {
    if (track.kind != TrackKind::thread || track.role != TrackRole::plain) {
      continue;
    }
    const ProcessDeclaration& process = processes[track.process];
    const auto found = known.find({process.host, process.boot_id, process.pid, track.os_thread_id});
    if (found != known.end()) {
      threads[track.id] = found->second;
    }
  }
  return threads;
}

std::vector<std::string> names_of_threads(const Declarations& declared) {
  std::vector<std::string> names;
  names.reserve(declared.threads.size());
  for (const ThreadDeclaration& thread : declared.threads) {
    names.push_back(thread.name);
  }
  const auto threads = threads_of_tracks(declared);
  for (const TrackDeclaration& track : declared.tracks) {
    const auto found = threads.find(track.id);
    for (std::size_t i = 0; found != threads.end() && !track.name.empty() && i < found->second.size(); ++i) {
      names[found->second[i].index()] = track.name;
    }
  }
  return names;
}

}  // namespace kymo::timeline
