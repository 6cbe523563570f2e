// Lock waits and their holders: waits and holds among the sites and spans of a timeline's statistics.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

namespace {

constexpr std::string_view wait_prefix = "wait for ";
constexpr std::string_view hold_prefix = "hold ";

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

void add_wait(LockStatistics& lock, const SiteDeclaration& declared, const DurationStatistics& durations) {
  if (lock.waits == 0) {
    lock.file = declared.file;
    lock.line = declared.line;
  }
  lock.waits += durations.count;
  lock.waited_ns += durations.total_ns;
  lock.max_wait_ns = std::max(lock.max_wait_ns, durations.max_ns);
  const auto found = std::find_if(lock.holders.begin(), lock.holders.end(),
                                  [&](const HolderWaits& known) { return known.holder == declared.function; });
  HolderWaits& holder = found != lock.holders.end() ? *found : lock.holders.emplace_back();
  holder.holder = declared.function;
  holder.waits += durations.count;
  holder.total_ns += durations.total_ns;
  holder.max_ns = std::max(holder.max_ns, durations.max_ns);
}

}  // namespace

std::vector<LockStatistics> lock_statistics(const Timeline& timeline, const Statistics& statistics) {
  std::map<std::string, LockStatistics, std::less<>> by_name;
  for (const SiteStatistics& site : statistics.sites) {
    const SiteDeclaration& declared = timeline.site(site.site);
    if (declared.role == SiteRole::wait && begins_with(declared.name, wait_prefix)) {
      add_wait(by_name[declared.name.substr(wait_prefix.size())], declared, site.durations);
    }
  }
  std::set<std::string, std::less<>> locks;
  for (const TrackDeclaration& track : timeline.declarations().tracks) {
    if (track.role == TrackRole::lock) {
      locks.insert(track.name);
    }
  }
  for (const SpanStatistics& span : statistics.spans) {
    const std::string_view name = timeline.name(span.name);
    if (begins_with(name, hold_prefix) && locks.count(name.substr(hold_prefix.size())) != 0) {
      LockStatistics& lock = by_name[std::string(name.substr(hold_prefix.size()))];
      lock.holds += span.durations.count;
      lock.held_ns += span.durations.total_ns;
      lock.max_hold_ns = std::max(lock.max_hold_ns, span.durations.max_ns);
    }
  }
  std::vector<LockStatistics> all;
  for (auto& [name, lock] : by_name) {
    lock.name = name;
    std::stable_sort(lock.holders.begin(), lock.holders.end(),
                     [](const HolderWaits& a, const HolderWaits& b) { return a.total_ns > b.total_ns; });
    all.push_back(std::move(lock));
  }
  std::stable_sort(all.begin(), all.end(), [](const LockStatistics& a, const LockStatistics& b) {
    return std::tie(a.waited_ns, a.held_ns) > std::tie(b.waited_ns, b.held_ns);
  });
  return all;
}

}  // namespace kymo
