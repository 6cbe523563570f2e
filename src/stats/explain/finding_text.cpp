#include "stats/explain/finding_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <kymo/batch_cursor.hpp>
#include <kymo/thread_states.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/arguments.hpp"
#include "stats/explain/migrations.hpp"
#include "stats/explain/own_cost.hpp"

namespace kymo::stats {

std::string quoted(const Subject& subject) {
  std::string text = '"' + subject.name + '"';
  if (!subject.file.empty()) {
    const std::string file = subject.file.substr(subject.file.rfind('/') + 1);
    text += " (" + file + (subject.line != 0 ? ":" + std::to_string(subject.line) : "") + ")";
  }
  return text;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
    --most;
  }
  return text.substr(0, most) + "...";
}

namespace {

constexpr NumberForm short_form{3, false};
constexpr std::size_t most_delays_looked_at = 2'000;
constexpr std::string_view longer_calls = ": longer calls";

/// Where the owner's time went: "worker 1 in "load" (game.cpp:72)".
std::string place_of(const Finding& finding, bool names_thread) {
  const FindingPart& part = finding.parts.front();
  const std::string where = part.subject.name.empty() ? "outside of scopes" : "in " + quoted(part.subject);
  return names_thread && !part.thread.empty() ? part.thread + " " + where : where;
}

struct Means {
  double slow = 0;
  double usual = 0;
};

/// The number of calls an instance, on average.
Means calls_of(const FindingFacts& facts, const Cause& cause) {
  Means means;
  for (std::size_t i = 0; i < facts.paths.paths.size(); ++i) {
    for (const OwnerId owner : cause.owners) {
      const auto part = facts.paths.paths[i].parts.find(owner);
      if (part != facts.paths.paths[i].parts.end()) {
        (facts.looked_at.is_slow[i] ? means.slow : means.usual) += static_cast<double>(part->second.calls);
      }
    }
  }
  means.slow /= static_cast<double>(facts.looked_at.slow);
  means.usual /= static_cast<double>(facts.looked_at.instances.size() - facts.looked_at.slow);
  return means;
}

Means owned_by(const FindingFacts& facts, const Cause& cause) {
  Means means;
  for (std::size_t i = 0; i < cause.owned.size(); ++i) {
    (facts.looked_at.is_slow[i] ? means.slow : means.usual) += cause.owned[i];
  }
  means.slow /= static_cast<double>(facts.looked_at.slow);
  means.usual /= static_cast<double>(facts.looked_at.instances.size() - facts.looked_at.slow);
  return means;
}

/// Whether the number of calls differs or their length; which of the two makes more of the excess.
std::string describe_calls(const FindingFacts& facts, const Cause& cause) {
  const Means calls = calls_of(facts, cause);
  const Means owned = owned_by(facts, cause);
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
  const std::string calls =
      finding.is_first_time ? ", which runs there for the first time" : describe_calls(facts, cause);
  // More calls need no other reason; longer ones may.
  const bool are_longer = calls.substr(0, longer_calls.size()) == longer_calls;
  return "computing " + place_of(finding, false) + calls + describe_arguments(facts, cause) +
         (are_longer ? describe_migrations(facts) : "");
}

/// What the thread at the end of the waits did.
std::string describe_other(const FindingFacts& facts, const Cause& cause, const Finding& finding,
                           const std::string& pusher) {
  std::string place = place_of(finding, true);
  switch (finding.kind) {
    case OwnerKind::computing:
      return place + describe_arguments(facts, cause);
    case OwnerKind::pushed_off:
      return place + ", which was pushed off the CPU" + (pusher.empty() ? "" : " by " + pusher);
    case OwnerKind::blocked:
      return place + ", which was blocked";
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

std::int64_t length_of(const Delay& delay) {
  return delay.range.end_ns - delay.range.start_ns;
}

/// The CPU on which the thread goes on after a delay.
std::optional<std::uint32_t> cpu_after(const ThreadStates& states, const Delay& delay) {
  for (const ThreadId thread : states.threads_of(delay.track)) {
    const std::vector<ThreadState> after = states.states(thread, {delay.range.end_ns, delay.range.end_ns + 1});
    if (!after.empty() && after.back().state == RunState::running) {
      return after.back().cpu;
    }
  }
  return std::nullopt;
}

std::string text_of_thread(const ThreadDeclaration& thread) {
  const std::string whose =
      std::string_view(thread.name).substr(0, own_threads.size()) == own_threads ? "kymo's own " : "";
  return whose + (thread.name.empty() ? "thread" : thread.name) + " (thread " + std::to_string(thread.os_thread_id) +
         " of process " + std::to_string(thread.pid) + ")";
}

}  // namespace

std::string describe_cause(const FindingFacts& facts, const Cause& cause, const Finding& finding,
                           const std::string& pusher) {
  if (finding.waits.empty()) {
    switch (finding.kind) {
      case OwnerKind::pushed_off:
        return "pushed off the CPU" + (pusher.empty() ? "" : " by " + pusher) + ", most " + place_of(finding, false) +
               describe_migrations(facts);
      case OwnerKind::blocked:
        return "blocked " + place_of(finding, false);
      case OwnerKind::clock:
        return "computing at a lower clock: " + value_text(facts.paths.slow_clock_mhz, "MHz", short_form) +
               " against " + value_text(facts.paths.usual_clock_mhz, "MHz", short_form) + ", an estimate";
      default:
        return describe_own(facts, cause, finding);
    }
  }
  std::string waits;
  for (const std::string& wait : finding.waits) {
    waits += (waits.empty() ? "\"" : ", then \"") + wait + "\"";
  }
  if (finding.kind == OwnerKind::waking) {
    return "waiting in " + waits + ": late to go on after what it waited for had come" +
           (pusher.empty() ? "" : ", while the CPU belonged to " + pusher);
  }
  const ChainId chain = facts.owners.owner(cause.owners.front()).chain;
  const bool is_lock = facts.owners.wait(chain).kind == WaitKind::lock;
  return "waiting in " + waits + (is_lock ? ", held by " : " for ") + describe_other(facts, cause, finding, pusher) +
         (!is_lock && finding.kind == OwnerKind::held ? ", a thread without scopes" : "");
}

std::string find_pusher(const FindingFacts& facts, const Cause& cause) {
  std::vector<Delay> delays;
  for (const Delay& delay : facts.paths.delays) {
    const bool is_of_cause = std::find(cause.owners.begin(), cause.owners.end(), delay.owner) != cause.owners.end();
    if (is_of_cause && facts.looked_at.is_slow[delay.instance]) {
      delays.push_back(delay);
    }
  }
  std::sort(delays.begin(), delays.end(), [](const Delay& a, const Delay& b) { return length_of(a) > length_of(b); });
  delays.resize(std::min(delays.size(), most_delays_looked_at));
  std::sort(delays.begin(), delays.end(),
            [](const Delay& a, const Delay& b) { return a.range.start_ns < b.range.start_ns; });
  ThreadStates states(facts.timeline);
  std::int64_t all_ns = 0;
  for (Delay& delay : delays) {
    all_ns += length_of(delay);
    delay.cpu = delay.cpu ? delay.cpu : cpu_after(states, delay);
  }
  std::int64_t others_ns = all_ns;
  std::string most;
  std::int64_t most_ns = 0;
  for (const ThreadDeclaration& thread : facts.timeline.declarations().threads) {
    std::int64_t ran_ns = 0;
    for (const Delay& delay : delays) {
      for (const ThreadState& state : states.states(thread.id, delay.range)) {
        if (state.state == RunState::running && state.cpu == delay.cpu) {
          ran_ns += std::min(state.end_ns(), delay.range.end_ns) - std::max(state.start_ns, delay.range.start_ns);
        }
      }
    }
    others_ns -= ran_ns;
    if (ran_ns > most_ns) {
      most_ns = ran_ns;
      most = text_of_thread(thread);
    }
  }
  if (all_ns == 0) {
    return {};
  }
  if (2 * most_ns > all_ns) {
    return most;
  }
  // A CPU may be idle while a thread wakes up.
  const bool is_pushed = facts.owners.owner(cause.owners.front()).kind == OwnerKind::pushed_off;
  return is_pushed && 2 * others_ns > all_ns ? "threads that were not recorded" : "";
}

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

}  // namespace kymo::stats
