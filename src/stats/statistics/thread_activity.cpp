#include "stats/statistics/thread_activity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <kymo/batch_cursor.hpp>
#include <kymo/thread_states.hpp>

#include "timeline/observed_threads.hpp"

namespace kymo::stats {

namespace {

using ThreadKey = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;  // host, boot, pid, thread

constexpr std::string_view minor_faults_metric = "thread_minor_faults";
constexpr std::string_view major_faults_metric = "thread_major_faults";

/// What a counter grew by in a range. It began at 0 with the recording.
struct CounterGrowth {
  TimeRange range;
  std::size_t row = 0;
  bool is_major = false;
  bool is_known = false;
  double before = 0;
  double latest = 0;

  void take(std::int64_t time_ns, double value) {
    if (std::isnan(value) || time_ns >= range.end_ns) {
      return;
    }
    (time_ns <= range.start_ns ? before : latest) = value;
    latest = std::max(latest, value);
    is_known = true;
  }
  [[nodiscard]] std::uint64_t growth() const {
    constexpr double most = 1e18;  // of a damaged capture it may be anything
    return static_cast<std::uint64_t>(std::min(std::max(latest - before, 0.0), most));
  }
};

std::string_view label_of(const MetricDeclaration& metric, std::string_view key) {
  for (const auto& [name, value] : metric.labels) {
    if (name == key) {
      return value;
    }
  }
  return {};
}

std::uint64_t number_label(const MetricDeclaration& metric, std::string_view key) {
  const std::string_view text = label_of(metric, key);
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? number : 0;
}

class ActivityReader {
 public:
  ActivityReader(const Timeline& timeline, const Selection& selection) : timeline_(timeline), selection_(selection) {
    for (const ProcessDeclaration& process : timeline.declarations().processes) {
      processes_[process.id] = &process;
    }
  }

  void read_states();
  void read_faults(const std::function<void(double)>& on_progress);
  [[nodiscard]] std::vector<ThreadActivity> finish();

 private:
  struct Row {
    ThreadActivity activity;
    TimeRange range;
    bool is_taken = false;
    bool is_alone = true;  ///< no other thread had its number
  };

  [[nodiscard]] ThreadKey key_of(ProcessId observer, std::uint64_t pid, std::uint64_t thread) const;
  void select(ProcessId process, std::string_view name, Row& row) const;
  void find_counter(const MetricDeclaration& metric);

  const Timeline& timeline_;
  const Selection& selection_;
  std::unordered_map<ProcessId, const ProcessDeclaration*> processes_;
  std::vector<Row> rows_;
  std::map<ThreadKey, std::size_t> row_of_;
  std::unordered_map<MetricId, CounterGrowth> counters_;
};

ThreadKey ActivityReader::key_of(ProcessId observer, std::uint64_t pid, std::uint64_t thread) const {
  const auto process = processes_.find(observer);
  return process != processes_.end() ? ThreadKey{process->second->host, process->second->boot_id, pid, thread}
                                     : ThreadKey{{}, {}, pid, thread};
}

void ActivityReader::select(ProcessId process, std::string_view name, Row& row) const {
  if (selection_.takes_track(process, name)) {
    row.is_taken = true;
    row.range = selection_.range_of(process);
  }
}

/// A thread that recorded scopes belongs to its own process, any other to its observer.
void ActivityReader::read_states() {
  const ThreadStates states(timeline_);
  std::unordered_map<ThreadId, std::vector<TrackId>> tracks;
  for (const auto& [track, threads] : timeline::threads_of_tracks(timeline_.declarations())) {
    for (const ThreadId thread : threads) {
      tracks[thread].push_back(track);
    }
  }
  const std::vector<std::string> names = timeline::names_of_threads(timeline_.declarations());
  for (const ThreadDeclaration& thread : timeline_.declarations().threads) {
    Row row;
    row.activity.name = names[thread.id.index()];
    row.activity.pid = thread.pid;
    row.activity.os_thread_id = thread.os_thread_id;
    select(thread.process, thread.name, row);
    for (const TrackId track : tracks[thread.id]) {
      select(timeline_.track(track).process, timeline_.track(track).name, row);
    }
    const KnownStates known = row.is_taken ? states.known(thread.id, row.range) : KnownStates();
    if (const RunTimes& times = known.times; times.running_ns + times.runnable_ns + times.blocked_ns > 0) {
      row.activity.times = times;
      row.activity.migrations = known.migrations;
    }
    const auto [place, is_new] =
        row_of_.try_emplace(key_of(thread.process, thread.pid, thread.os_thread_id), rows_.size());
    if (!is_new) {
      rows_[place->second].is_alone = row.is_alone = false;
    }
    rows_.push_back(std::move(row));
  }
}

void ActivityReader::find_counter(const MetricDeclaration& metric) {
  const bool is_major = metric.name == major_faults_metric;
  const std::uint64_t thread = number_label(metric, "thread");
  if ((!is_major && metric.name != minor_faults_metric) || metric.kind != MetricKind::counter || thread == 0) {
    return;
  }
  const std::uint64_t pid = number_label(metric, "pid");
  const auto [place, is_new] = row_of_.try_emplace(key_of(metric.process, pid, thread), rows_.size());
  if (is_new) {
    Row row;
    row.activity.name = label_of(metric, "name");
    row.activity.pid = pid;
    row.activity.os_thread_id = thread;
    select(metric.process, row.activity.name, row);
    rows_.push_back(std::move(row));
  }
  const Row& row = rows_[place->second];
  if (row.is_taken && row.is_alone) {
    CounterGrowth counter;
    counter.range = row.range;
    counter.row = place->second;
    counter.is_major = is_major;
    counters_.emplace(metric.id, counter);
  }
}

void ActivityReader::read_faults(const std::function<void(double)>& on_progress) {
  for (const MetricDeclaration& metric : timeline_.declarations().metrics) {
    find_counter(metric);
  }
  if (counters_.empty()) {
    return;
  }
  BatchCursor cursor(timeline_, {std::numeric_limits<std::int64_t>::min(), selection_.range().end_ns},
                     BatchParts::samples);
  for (EventBatch batch; cursor.next(batch);) {
    for (const SampleRun& run : batch.samples) {
      const auto counter = counters_.find(run.metric);
      for (std::size_t i = 0; counter != counters_.end() && i < std::min(run.times_ns.size(), run.values.size()); ++i) {
        counter->second.take(run.times_ns[i], run.values[i]);
      }
    }
    if (on_progress) {
      on_progress(cursor.share_done());
    }
  }
  for (const auto& [metric, counter] : counters_) {
    ThreadActivity& activity = rows_[counter.row].activity;
    std::optional<std::uint64_t>& faults = counter.is_major ? activity.major_faults : activity.minor_faults;
    // Two observers may have counted the same.
    faults = counter.is_known ? std::max(faults.value_or(0), counter.growth()) : faults;
  }
}

std::vector<ThreadActivity> ActivityReader::finish() {
  std::vector<ThreadActivity> all;
  for (Row& row : rows_) {
    if (row.is_taken && (row.activity.times || row.activity.minor_faults)) {
      all.push_back(std::move(row.activity));
    }
  }
  const auto ran_ns = [](const ThreadActivity& one) { return one.times ? one.times->running_ns : -1; };
  std::stable_sort(all.begin(), all.end(),
                   [&ran_ns](const ThreadActivity& a, const ThreadActivity& b) { return ran_ns(a) > ran_ns(b); });
  return all;
}

}  // namespace

std::vector<ThreadActivity> gather_thread_activity(const Timeline& timeline, const Selection& selection,
                                                   const std::function<void(double)>& on_progress) {
  ActivityReader reader(timeline, selection);
  reader.read_states();
  reader.read_faults(on_progress);
  return reader.finish();
}

}  // namespace kymo::stats
