// kymo stats --by thread: each thread's scopes, and what it did in all.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/statistics/thread_activity.hpp"
#include "stats/statistics/thread_statistics.hpp"

namespace kymo::command {

namespace {

using stats::ThreadSiteStatistics;

/// Names of threads; those that share one are told apart by their numbers.
class ThreadNames {
 public:
  ThreadNames(const Timeline& timeline, const std::vector<ThreadSiteStatistics>& rows) : timeline_(timeline) {
    std::map<TrackId, bool> seen;
    for (const ThreadSiteStatistics& row : rows) {
      if (seen.emplace(row.track, true).second) {
        ++alike_[timeline.track(row.track).name];
      }
    }
  }
  [[nodiscard]] std::string of(TrackId id) const {
    const TrackDeclaration& track = timeline_.track(id);
    const std::string name = track.name.empty() ? "(unnamed)" : printable(track.name);
    const bool is_told = alike_.at(track.name) > 1 || track.name.empty();
    return is_told ? fmt::format("{} {}", name, track.os_thread_id != 0 ? track.os_thread_id : id.value()) : name;
  }

 private:
  const Timeline& timeline_;
  std::map<std::string, std::size_t> alike_;
};

nlohmann::ordered_json to_json(const Timeline& timeline, const ThreadSiteStatistics& row) {
  const TrackDeclaration& track = timeline.track(row.track);
  const stats::DurationStatistics& durations = row.scopes.durations;
  nlohmann::ordered_json json = {{"thread", track.name},
                                 {"thread_id", track.os_thread_id},
                                 {"pid", timeline.process(track.process).declaration.pid}};
  json.update(site_to_json(timeline.site(row.scopes.site)));
  json.update({{"count", durations.count},
               {"total_ns", durations.total_ns},
               {"self_ns", row.scopes.self_ns},
               {"mean_ns", durations.mean_ns},
               {"min_ns", durations.min_ns},
               {"p50_ns", durations.p50_ns},
               {"p95_ns", durations.p95_ns},
               {"p99_ns", durations.p99_ns},
               {"p99_9_ns", durations.p99_9_ns},
               {"max_ns", durations.max_ns}});
  return json;
}

void print_table(const Timeline& timeline, const std::vector<ThreadSiteStatistics>& rows, std::size_t most) {
  std::map<TrackId, std::uint64_t> self_ns;
  for (const ThreadSiteStatistics& row : rows) {
    self_ns[row.track] += row.scopes.self_ns;
  }
  const ThreadNames names(timeline, rows);
  Table table({{"thread", Align::left},
               {"scope", Align::left},
               {"where", Align::left, 6, Style::soft},
               {"self"},
               {"of thread"},
               {"count", Align::right, 1},
               {"total", Align::right, 3},
               {"mean", Align::right, 2},
               {"p99", Align::right, 4},
               {"max", Align::right, 2}});
  TrackId last;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const stats::SiteStatistics& scopes = rows[i].scopes;
    const SiteDeclaration& site = timeline.site(scopes.site);
    const auto time = [](auto value) { return format_duration(static_cast<double>(value)); };
    table.add({screen().is_terminal && rows[i].track == last ? std::string() : names.of(rows[i].track), site_name(site),
               place_of(site), (scopes.self_is_bound != 0 ? "<= " : "") + time(scopes.self_ns),
               format_share(static_cast<double>(scopes.self_ns), static_cast<double>(self_ns[rows[i].track])),
               format_count(scopes.durations.count), time(scopes.durations.total_ns), time(scopes.durations.mean_ns),
               time(scopes.durations.p99_ns), time(scopes.durations.max_ns)});
    last = rows[i].track;
  }
  if (table.empty()) {
    fmt::print("No scope has ended in this part of the recording.\n");
  } else {
    table.print();
  }
  if (most < rows.size()) {
    fmt::print("... and {} more; --top {} shows all\n", format_plural(rows.size() - most, "row"), rows.size());
  }
}

nlohmann::ordered_json to_json(const ThreadActivity& thread) {
  const auto known = [](const auto& value) -> nlohmann::ordered_json {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json = {
      {"thread", thread.name}, {"thread_id", thread.os_thread_id}, {"pid", thread.pid}, {"run_states", nullptr}};
  if (thread.times) {
    json["run_states"] = {{"running_ns", thread.times->running_ns},
                          {"runnable_ns", thread.times->runnable_ns},
                          {"blocked_ns", thread.times->blocked_ns}};
  }
  json["migrations"] = known(thread.migrations);
  json["minor_faults"] = known(thread.minor_faults);
  json["major_faults"] = known(thread.major_faults);
  return json;
}

/// Columns of what was recorded of no thread are left out.
void print_activity(const std::vector<ThreadActivity>& threads, std::size_t most) {
  const auto has = [&threads](const auto& what) { return std::any_of(threads.begin(), threads.end(), what); };
  const bool has_states = has([](const ThreadActivity& thread) { return thread.times.has_value(); });
  const bool has_faults = has([](const ThreadActivity& thread) { return thread.minor_faults.has_value(); });
  const auto time = [has_states](const ThreadActivity& thread, std::int64_t RunTimes::*part) -> std::string {
    return thread.times ? format_duration(static_cast<double>((*thread.times).*part)) : has_states ? "-" : "";
  };
  const auto count = [](const std::optional<std::uint64_t>& number, bool is_of_any) -> std::string {
    return number ? format_count(*number) : is_of_any ? "-" : "";
  };
  Table table({{"thread", Align::left},
               {"pid", Align::right, 3},
               {"CPU time"},
               {"pushed off"},
               {"blocked"},
               {"migrations", Align::right, 1},
               {"minor faults", Align::right, 2},
               {"major faults", Align::right, 2}});
  for (std::size_t i = 0; i < std::min(most, threads.size()); ++i) {
    const ThreadActivity& thread = threads[i];
    table.add({fmt::format("{} {}", thread.name.empty() ? "(unnamed)" : printable(thread.name), thread.os_thread_id),
               std::to_string(thread.pid), time(thread, &RunTimes::running_ns), time(thread, &RunTimes::runnable_ns),
               time(thread, &RunTimes::blocked_ns), count(thread.migrations, has_states),
               count(thread.minor_faults, has_faults), count(thread.major_faults, has_faults)});
  }
  table.print_below();
  if (most < threads.size()) {
    fmt::print("... and {} more; --top {} shows all\n", format_plural(threads.size() - most, "thread"), threads.size());
  }
}

}  // namespace

int show_threads(const Timeline& timeline, const StatsOptions& options) {
  const stats::Selection selection(timeline, selection_of(timeline, options));
  std::vector<ThreadSiteStatistics> rows;
  {
    Progress progress("reading");
    rows = stats::gather_thread_statistics(timeline, selection, progress.callback());
  }
  std::vector<ThreadActivity> activity;
  if (!selection.chooses_sites()) {
    Progress progress("reading run states");
    activity = stats::gather_thread_activity(timeline, selection, progress.callback());
  }
  if (options.sort) {
    if (is_of_states(*options.sort)) {
      throw Failure("--by thread has no columns of what threads did in scopes; the table without it has");
    }
    std::stable_sort(rows.begin(), rows.end(), [&](const ThreadSiteStatistics& a, const ThreadSiteStatistics& b) {
      return goes_before(timeline, a.scopes, b.scopes, *options.sort);
    });
  }
  const Warnings warnings = find_all_warnings(timeline);
  const std::size_t most = options.top == 0 ? std::max(rows.size(), activity.size()) : options.top;
  if (options.is_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
      list.push_back(to_json(timeline, rows[i]));
    }
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < std::min(most, activity.size()); ++i) {
      all.push_back(to_json(activity[i]));
    }
    print_json({{"threads", std::move(list)}, {"thread_activity", std::move(all)}, {"warnings", warnings.texts}});
    return warnings.exit_code();
  }
  warnings.print();
  print_table(timeline, rows, most);
  // A build has thousands.
  constexpr std::size_t most_threads_shown = 20;
  print_activity(activity, options.top == 0 ? most_threads_shown : most);
  return warnings.exit_code();
}

}  // namespace kymo::command
