#include "stats/explain/finding_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/arguments.hpp"
#include "stats/explain/functions.hpp"
#include "stats/explain/scheduling.hpp"

namespace kymo::stats {

std::string quoted(const Subject& subject) {
  std::string text = '"' + subject.name + '"';
  if (!subject.file.empty()) {
    const std::string file = subject.file.substr(subject.file.rfind('/') + 1);
    text += " (" + file + (subject.line != 0 ? ":" + std::to_string(subject.line) : "") + ")";
  }
  return text;
}

namespace {

constexpr NumberForm short_form{3, false};
constexpr std::size_t most_parts = 8;
constexpr std::string_view longer_calls = ": longer calls";

/// What waited, the instance's own thread first.
std::vector<Wait> waits_before(const OwnerTable& owners, ChainId chain) {
  std::vector<Wait> waits;
  for (; chain != 0; chain = owners.wait(chain).outer) {
    waits.push_back(owners.wait(chain));
  }
  std::reverse(waits.begin(), waits.end());
  return waits;
}

std::string wait_text(const std::string& name) {
  return name.empty() ? "(outside of scopes)" : name;
}

std::string describe_waits(const OwnerTable& owners, ChainId chain) {
  std::string text = "waiting";
  const std::vector<Wait> waits = waits_before(owners, chain);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const std::string& name = owners.subject(waits[i].subject).name;
    if (!waits[i].is_without_scope) {
      text += (i == 0 ? " in \"" : waits[i - 1].is_without_scope ? " for another in \"" : ", then \"");
      text += wait_text(name) + '"';
    } else if (i != 0) {
      text += " for " + name + ", which waited";
    }
  }
  return text;
}

/// Where the owner's time went: " in "load" (game.cpp:72)". For a thread without scopes that is nowhere.
std::string place_of(const FindingFacts& facts, const Cause& cause, const Finding& finding) {
  const Subject& subject = finding.parts.front().subject;
  if (facts.owners.owner(cause.owners.front()).actor.thread) {
    return {};
  }
  return subject.name.empty() ? " outside of scopes" : " in " + quoted(subject);
}

/// Said where others have scopes.
std::string_view without_scopes(const FindingFacts& facts) {
  return facts.looked_at.instances.front().thread ? "" : " (without scopes)";
}

/// The first part's thread, and the others that have a good share of the time in the same place: "worker 1 and worker
/// 2", "worker 1 and 3 more threads".
std::string threads_of(const Finding& finding) {
  constexpr double least_share = 0.1;
  const FindingPart& first = finding.parts.front();
  double all_ns = 0;
  for (const FindingPart& part : finding.parts) {
    all_ns += part.excess_ns;
  }
  std::vector<std::string_view> others;
  for (const FindingPart& part : finding.parts) {
    const bool is_there = part.subject.name == first.subject.name && part.subject.file == first.subject.file;
    if (&part != &first && is_there && part.excess_ns > least_share * all_ns) {
      others.emplace_back(part.thread);
    }
  }
  std::string text = first.thread;
  if (others.size() == 1) {
    text += " and " + std::string(others.front());
  } else if (!others.empty()) {
    text += " and " + std::to_string(others.size()) + " more threads";
  }
  return text;
}

/// The threads and where their time went: "worker 1 in "load" (game.cpp:72)".
std::string thread_and_place_of(const FindingFacts& facts, const Cause& cause, const Finding& finding) {
  if (facts.owners.owner(cause.owners.front()).actor.thread) {
    return finding.parts.front().subject.name + std::string(without_scopes(facts));
  }
  const std::string place = place_of(facts, cause, finding);
  return finding.parts.front().thread.empty() ? place.substr(1) : threads_of(finding) + place;
}

/// The number of calls in each instance.
std::vector<double> calls_of(const FindingFacts& facts, const Cause& cause) {
  std::vector<double> calls(facts.paths.paths.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const OwnerId owner : cause.owners) {
      const auto part = facts.paths.paths[i].parts.find(owner);
      calls[i] += part != facts.paths.paths[i].parts.end() ? static_cast<double>(part->second.calls) : 0;
    }
  }
  return calls;
}

/// Whether the number of calls differs or their length; which of the two makes more of the excess.
std::string describe_calls(const FindingFacts& facts, const Cause& cause) {
  const Means calls = means_of(facts.looked_at, calls_of(facts, cause));
  const Means owned = means_of(facts.looked_at, cause.owned);
  if (calls.slow <= 0) {
    return {};
  }
  if (calls.usual <= 0) {
    return ", which usually does not run";
  }
  const double each_slow = owned.slow / calls.slow;
  const double each_usual = owned.usual / calls.usual;
  const double by_number = (calls.slow - calls.usual) * each_usual;
  if (by_number / (owned.slow - owned.usual) > 0.5) {
    return (calls.slow > calls.usual ? ": more calls (" : ": fewer calls (") + value_text(calls.slow, "", short_form) +
           " against " + value_text(calls.usual, "", short_form) + ")";
  }
  return std::string(each_slow > each_usual ? longer_calls : ": shorter calls") + " (" +
         duration_text(each_slow, short_form) + " against " + duration_text(each_usual, short_form) + ")";
}

/// Whether a scope of the subject began before a time.
bool ran_before(const FindingFacts& facts, const Subject& subject, std::int64_t time_ns) {
  std::set<SiteId> sites;
  for (const SiteDeclaration& site : facts.timeline.declarations().sites) {
    if (site.name == subject.name && site.file == subject.file && site.function == subject.function) {
      sites.insert(site.id);
    }
  }
  const auto is_one = [&](std::int64_t start_ns, SiteId site) { return start_ns < time_ns && sites.count(site) != 0; };
  BatchCursor cursor(facts.timeline, {std::numeric_limits<std::int64_t>::min(), time_ns}, BatchParts::scopes);
  for (EventBatch batch; cursor.next(batch);) {
    for (const ScopeRun& run : batch.runs) {
      const bool was_open = std::any_of(run.open_at_start.begin(), run.open_at_start.end(),
                                        [&](const OpenScope& open) { return is_one(open.start_ns, open.site); });
      const bool has_opened = std::any_of(run.events.begin(), run.events.end(), [&](const ScopeEvent& event) {
        return event.is_open() && is_one(event.time_ns, event.site);
      });
      if (was_open || has_opened) {
        return true;
      }
    }
  }
  return false;
}

std::string describe_own(const FindingFacts& facts, const Cause& cause, const Finding& finding) {
  std::string computing = "computing" + place_of(facts, cause, finding);
  if (!facts.looked_at.has_usual()) {
    return computing;
  }
  const std::string calls =
      finding.is_first_time ? ", which runs there for the first time" : describe_calls(facts, cause);
  // More calls need no other reason; longer ones may.
  const bool are_longer = calls.substr(0, longer_calls.size()) == longer_calls;
  return computing + calls + describe_arguments(facts, cause) + (are_longer ? describe_migrations(facts) : "");
}

/// What the thread at the end of the waits did.
std::string describe_other(const FindingFacts& facts, const Cause& cause, const Finding& finding,
                           const std::string& pusher) {
  std::string place = thread_and_place_of(facts, cause, finding);
  switch (finding.kind) {
    case OwnerKind::computing:
      return place + (facts.looked_at.has_usual() ? describe_arguments(facts, cause) : "");
    case OwnerKind::pushed_off:
      return place + ", which was pushed off the CPU" + (pusher.empty() ? "" : " by " + pusher);
    case OwnerKind::blocked:
      return place + ", which was blocked" + describe_meanwhile(facts, cause);
    case OwnerKind::held:
      return finding.parts.front().subject.name.empty() ? "an unknown thread" : finding.parts.front().subject.name;
    case OwnerKind::queue:
      return (finding.parts.front().thread.empty() ? "a queue" : finding.parts.front().thread) + " running " +
             quoted(finding.parts.front().subject);
    case OwnerKind::waking:
    case OwnerKind::clock:
      break;
  }
  return place;
}

/// The excess in each scope, of what was waited for in each thread apart.
std::vector<FindingPart> parts_of(const FindingFacts& facts, const Cause& cause) {
  const LookedAt& looked_at = facts.looked_at;
  const bool is_behind_waits = facts.owners.owner(cause.owners.front()).chain != 0;
  std::map<std::pair<SubjectId, std::string>, std::map<std::string, double>> excess;  // by thread
  for (std::size_t i = 0; i < facts.paths.paths.size(); ++i) {
    const double weight = looked_at.is_slow[i] ? 1 / static_cast<double>(looked_at.slow)
                                               : -1 / static_cast<double>(looked_at.instances.size() - looked_at.slow);
    for (const OwnerId id : cause.owners) {
      const auto part = facts.paths.paths[i].parts.find(id);
      if (part != facts.paths.paths[i].parts.end()) {
        const Owner& owner = facts.owners.owner(id);
        const std::string thread = name_of(facts.timeline, owner.actor);
        excess[{owner.subject, is_behind_waits ? thread : std::string()}][thread] +=
            weight * static_cast<double>(part->second.duration_ns);
      }
    }
  }
  std::vector<FindingPart> parts;
  for (const auto& [place, by_thread] : excess) {
    FindingPart part{facts.owners.subject(place.first), {}, 0};
    double most_ns = 0;
    for (const auto& [thread, excess_ns] : by_thread) {
      part.excess_ns += excess_ns;
      if (std::abs(excess_ns) > most_ns) {
        most_ns = std::abs(excess_ns);
        part.thread = thread;
      }
    }
    parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const FindingPart& a, const FindingPart& b) {
    return std::abs(a.excess_ns) > std::abs(b.excess_ns);
  });
  parts.resize(std::min(parts.size(), most_parts));
  return parts;
}

std::string describe_cause(const FindingFacts& facts, const Cause& cause, const Finding& finding,
                           const std::string& pusher) {
  if (finding.waits.empty()) {
    std::string place = place_of(facts, cause, finding);
    switch (finding.kind) {
      case OwnerKind::pushed_off:
        place = place.empty() ? "" : ", most" + place;
        return "pushed off the CPU" + (pusher.empty() ? "" : " by " + pusher) + place + describe_migrations(facts);
      case OwnerKind::blocked:
        return "blocked" + place + describe_meanwhile(facts, cause);
      case OwnerKind::held:
        return "not recorded";
      case OwnerKind::clock:
        return "computing at a lower clock: " + value_text(facts.paths.slow_clock_mhz, "MHz", short_form) +
               " against " + value_text(facts.paths.usual_clock_mhz, "MHz", short_form) + ", an estimate";
      default:
        return describe_own(facts, cause, finding);
    }
  }
  const ChainId chain = facts.owners.owner(cause.owners.front()).chain;
  const std::string waits = describe_waits(facts.owners, chain);
  if (finding.kind == OwnerKind::waking) {
    return waits + ": late to go on after what it waited for had come" +
           (pusher.empty() ? "" : ", while the CPU belonged to " + pusher);
  }
  const bool is_lock = facts.owners.wait(chain).kind == WaitKind::lock;
  return waits + (is_lock ? ", held by " : " for ") + describe_other(facts, cause, finding, pusher) +
         (!is_lock && finding.kind == OwnerKind::held ? std::string(without_scopes(facts)) : "");
}

/// Whether a scope's very first run, in the whole timeline, is in a slow instance that accounts for most of the cause.
bool is_first_time(const FindingFacts& facts, const Cause& cause) {
  const Owner& owner = facts.owners.owner(cause.owners.front());
  if (owner.chain != 0 || owner.kind != OwnerKind::computing || owner.subject == 0) {
    return false;
  }
  double all_ns = 0;
  double most_ns = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < cause.owned.size(); ++i) {
    if (facts.looked_at.is_slow[i]) {
      all_ns += cause.owned[i];
      most = cause.owned[i] > most_ns ? i : most;
      most_ns = std::max(most_ns, cause.owned[i]);
    }
  }
  if (most_ns < 0.8 * all_ns || most_ns == 0) {
    return false;
  }
  return !ran_before(facts, facts.owners.subject(owner.subject), facts.looked_at.instances[most].start_ns);
}

}  // namespace

Finding describe_finding(const FindingFacts& facts, const Cause& cause) {
  const Owner& owner = facts.owners.owner(cause.owners.front());
  Finding finding;
  finding.kind = owner.kind;
  for (const Wait& wait : waits_before(facts.owners, owner.chain)) {
    finding.waits.push_back(wait_text(facts.owners.subject(wait.subject).name));
  }
  finding.parts = parts_of(facts, cause);
  finding.excess_ns = cause.excess;
  finding.is_first_time = facts.looked_at.has_usual() && is_first_time(facts, cause);
  const bool is_delay = owner.kind == OwnerKind::pushed_off || owner.kind == OwnerKind::waking;
  finding.text = describe_cause(facts, cause, finding, is_delay ? find_pusher(facts, cause) : std::string());
  if (finding.excess_ns > 0) {
    finding.functions = find_functions(facts, cause);
    finding.text += describe_functions(finding.functions);
  }
  return finding;
}

}  // namespace kymo::stats
