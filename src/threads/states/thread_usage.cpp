#include "threads/states/thread_usage.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/system/file.hpp"
#include "threads/states/running_process.hpp"

namespace kymo::threads {

namespace {

/// The fourth field of a stat file; the second one, the name, may hold anything.
std::uint64_t parent_in(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  constexpr std::size_t to_parent = 4;  // ") S "
  std::uint64_t parent = 0;
  if (name_end != std::string::npos && name_end + to_parent < stat.size()) {
    std::from_chars(stat.data() + name_end + to_parent, stat.data() + stat.size(), parent);
  }
  return parent;
}

MetricDeclaration describe(MetricId id, const char* name, std::uint64_t pid, std::uint64_t tid, std::string comm) {
  MetricDeclaration metric;
  metric.id = id;
  metric.kind = MetricKind::counter;
  metric.name = name;
  metric.unit = "s";
  metric.source = "/proc/PID/task/TID/schedstat";
  metric.step = 1e-9;
  metric.labels = {{"pid", std::to_string(pid)}, {"thread", std::to_string(tid)}, {"name", std::move(comm)}};
  return metric;
}

}  // namespace

bool parse_schedstat(std::string_view text, ThreadTimes& times) {
  const char* const end = text.data() + text.size();
  const auto running = std::from_chars(text.data(), end, times.running_ns);
  if (running.ec != std::errc() || running.ptr == end || *running.ptr != ' ' || times.running_ns < 0) {
    return false;
  }
  const auto runnable = std::from_chars(running.ptr + 1, end, times.runnable_ns);
  return runnable.ec == std::errc() && runnable.ptr != end && *runnable.ptr == ' ' && times.runnable_ns >= 0;
}

/// The tree below the root. Children of a process that ended belong to it no more than to others, so they are followed
/// as long as they were seen before.
std::vector<std::uint64_t> ThreadUsage::processes() const {
  std::set<std::uint64_t> tree{static_cast<std::uint64_t>(root_)};
  for (const auto& [key, metrics] : metrics_) {
    tree.insert(key.first);
  }
  std::map<std::uint64_t, std::uint64_t> parents;
  for (const std::uint64_t pid : list_numbers(proc_)) {
    parents[pid] = parent_in(base::read_small_file(proc_ + "/" + std::to_string(pid) + "/stat"));
  }
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const auto& [pid, parent] : parents) {
      has_grown = (tree.count(parent) != 0 && tree.insert(pid).second) || has_grown;
    }
  }
  return {tree.begin(), tree.end()};
}

void ThreadUsage::read_thread(Key key, std::int64_t now_ns, EventBatch& batch) {
  const std::string folder = proc_ + "/" + std::to_string(key.first) + "/task/" + std::to_string(key.second);
  ThreadTimes times;
  if (!parse_schedstat(base::read_small_file(folder + "/schedstat"), times)) {
    return;
  }
  auto found = metrics_.find(key);
  if (found == metrics_.end()) {
    if (metrics_.size() == most_threads) {
      return;
    }
    std::string comm = base::read_small_file(folder + "/comm");
    comm.erase(std::find(comm.begin(), comm.end(), '\n'), comm.end());
    const MetricId running{++last_metric_};
    const MetricId runnable{++last_metric_};
    found = metrics_.emplace(key, std::pair(running, runnable)).first;
    batch.declarations.metrics.push_back(describe(running, "thread_running_time", key.first, key.second, comm));
    batch.declarations.metrics.push_back(describe(runnable, "thread_runnable_time", key.first, key.second, comm));
  }
  const auto add = [&](MetricId metric, std::int64_t value_ns) {
    batch.samples.push_back({metric, {now_ns}, {static_cast<double>(value_ns) / 1e9}, {}});
  };
  add(found->second.first, times.running_ns);
  add(found->second.second, times.runnable_ns);
}

void ThreadUsage::read(std::int64_t now_ns, EventBatch& batch) {
  batch = {};
  batch.start_ns = batch.end_ns = now_ns;
  for (const std::uint64_t pid : processes()) {
    for (const std::uint64_t tid : list_numbers(proc_ + "/" + std::to_string(pid) + "/task")) {
      read_thread({pid, tid}, now_ns, batch);
    }
  }
}

}  // namespace kymo::threads
