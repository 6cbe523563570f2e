#include <kymo/explain.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include <kymo/statistics.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/causes.hpp"
#include "stats/explain/clock.hpp"
#include "stats/explain/companions.hpp"
#include "stats/explain/finding_text.hpp"
#include "stats/explain/own_cost.hpp"
#include "stats/paths/critical_path.hpp"

namespace kymo {

namespace stats {

namespace {

constexpr std::size_t most_findings = 5;
constexpr std::size_t most_shorter = 3;
constexpr std::size_t most_companions = 5;
constexpr std::size_t most_slowest = 5;
constexpr std::size_t most_sites = 3;
constexpr std::size_t most_processes = 3;
/// Intervals of fewer slow instances would only tell of the usual ones.
constexpr std::size_t least_for_interval = 3;

/// Explains one set of instances.
class Explaining {
 public:
  Explaining(const Timeline& timeline, const ExplainOptions& options, const Instances& instances, const SlowSet& set)
      : timeline_(timeline), options_(options), instances_(instances), set_(set), owners_(timeline) {}

  Explanation run() {
    describe_instances();
    if (set_.slow.empty() || set_.usual.empty()) {
      return std::move(result_);
    }
    looked_at_ = look_at(instances_, durations_of(instances_), set_);
    if (result_.excess_ns() > 0 &&
        (!result_.is_comparison || amounts_differ(looked_at_, options_.most_p, options_.seed))) {
      paths_ = find_critical_paths(timeline_, looked_at_.instances, owners_, options_.on_progress);
      // Metrics of several captures are not joined.
      if (!result_.is_comparison) {
        move_clock_parts(timeline_, looked_at_, paths_, owners_);
        metrics_.emplace(timeline_, looked_at_);
      }
      find_findings();
    }
    if (!result_.findings.empty() && metrics_) {
      result_.companions = metrics_->companions(most_companions);
    }
    add_notes();
    return std::move(result_);
  }

 private:
  void describe_instances();
  void find_findings();
  void add_notes();
  [[nodiscard]] Finding finding_of(const Cause& cause) const;
  [[nodiscard]] bool may_be_the_machine(const Cause& cause, const Finding& finding) const;
  void add_evidence(const Cause& cause, Finding& finding) const;

  const Timeline& timeline_;
  const ExplainOptions& options_;
  const Instances& instances_;
  const SlowSet& set_;
  OwnerTable owners_;
  LookedAt looked_at_;
  CriticalPaths paths_;
  std::optional<InstanceMetrics> metrics_;
  Explanation result_;
  bool is_rare_ = false;  ///< there were causes that may be the machine's doing
};

void Explaining::describe_instances() {
  result_.name = instances_.name;
  result_.process = instances_.process;
  result_.is_comparison = !options_.base_captures.empty();
  result_.is_chosen = options_.slow.number || options_.slow.time;
  result_.over_ns = options_.slow.over_ns.value_or(0);
  result_.instances = instances_.all.size();
  result_.slow = set_.slow.size();
  result_.usual = set_.usual.size();
  std::vector<double> durations = durations_of(instances_);
  result_.slow_mean_ns = mean_of_set(durations, set_.slow);
  result_.usual_mean_ns = mean_of_set(durations, set_.usual);
  std::sort(durations.begin(), durations.end());
  result_.median_ns = durations.empty() ? 0 : durations[durations.size() / 2];
  result_.longest_ns = durations.empty() ? 0 : durations.back();
  for (std::size_t i = 0; i < std::min(set_.slow.size(), most_slowest); ++i) {
    result_.slowest.push_back(instances_.all[set_.slow[i]]);
  }
}

/// Whether the cause came so rarely and briefly that a disturbance by the machine is as likely. Not asked where the
/// user chose the instances: these are explained as they are.
bool Explaining::may_be_the_machine(const Cause& cause, const Finding& finding) const {
  const SlowSetOptions& chosen = options_.slow;
  if (chosen.number || chosen.time || chosen.over_ns || result_.is_comparison || finding.is_first_time ||
      finding.excess_ns > most_disturbance_ns) {
    return false;
  }
  return count_occasions(looked_at_, cause) < least_occasions;
}

void Explaining::add_evidence(const Cause& cause, Finding& finding) const {
  for (std::size_t i = 0; i < cause.owned.size(); ++i) {
    if (looked_at_.is_slow[i]) {
      finding.slow.push_back({looked_at_.instances[i], cause.owned[i]});
    } else {
      finding.usual_ns.push_back(cause.owned[i]);
    }
  }
  std::stable_sort(finding.slow.begin(), finding.slow.end(),
                   [](const FindingInstance& a, const FindingInstance& b) { return a.owned_ns > b.owned_ns; });
}

Finding Explaining::finding_of(const Cause& cause) const {
  Finding finding = describe_finding({timeline_, looked_at_, paths_, owners_, options_.seed}, cause);
  finding.share = cause.excess / result_.excess_ns();
  finding.p_value = cause.p_value;
  if (looked_at_.slow >= least_for_interval) {
    finding.interval = bootstrap_share(looked_at_, cause, options_.seed);
  }
  finding.in_instances = instances_with(looked_at_, cause).size();
  if (finding.excess_ns > 0 && finding.kind == OwnerKind::blocked && metrics_) {
    finding.bytes = metrics_->bytes_with(cause);
    finding.text += describe_bytes(timeline_, finding.bytes);
  }
  add_evidence(cause, finding);
  return finding;
}

void Explaining::find_findings() {
  const std::vector<Cause> causes = find_causes(looked_at_, paths_, owners_, options_.seed);
  const double least_ns = options_.least_share * result_.excess_ns();
  result_.unexplained_ns = result_.excess_ns();
  for (const Cause* cause : lengthening(causes, least_ns, options_.most_p)) {
    if (result_.findings.size() == most_findings) {
      break;
    }
    Finding finding = finding_of(*cause);
    if (finding.interval && finding.interval->low <= 0) {
      continue;
    }
    if (may_be_the_machine(*cause, finding)) {
      is_rare_ = true;
      continue;
    }
    result_.unexplained_ns -= finding.excess_ns;
    result_.findings.push_back(std::move(finding));
  }
  if (result_.findings.empty()) {
    return;
  }
  for (const Cause* cause : shortening(causes, least_ns, options_.most_p)) {
    if (result_.shorter.size() == most_shorter) {
      break;
    }
    result_.unexplained_ns -= cause->excess;
    result_.shorter.push_back(finding_of(*cause));
  }
  if (std::abs(result_.unexplained_ns) < 1) {
    result_.unexplained_ns = 0;  // what rounding left
  }
}

void Explaining::add_notes() {
  if (instances_.is_cut) {
    result_.notes.push_back("only the first " + count_text(most_instances) + " were looked at");
  }
  if (paths_.is_cut) {
    result_.notes.emplace_back("there are more waits, holds, flows or stacks than are kept: some were not followed");
  }
  if (is_rare_) {
    result_.notes.push_back("what came on fewer than " + std::to_string(least_occasions) +
                            " occasions is no finding: the machine itself delays a program as much now and then");
  }
  if (result_.findings.empty() && instances_.name.empty() && !result_.is_chosen && !result_.is_comparison) {
    result_.notes.push_back("`kymo explain --frame " + std::to_string(result_.slowest.front().number) +
                            "` tells what took the time in the slowest of them");
  }
  const auto is_blocked = [](const Finding& finding) { return finding.kind == OwnerKind::blocked; };
  const auto lacks_wakes = [](const InfoDeclaration& info) {
    return info.key == "threads.wakes" && info.value != "recorded";
  };
  const auto& infos = timeline_.declarations().infos;
  if (std::any_of(result_.findings.begin(), result_.findings.end(), is_blocked) &&
      std::any_of(infos.begin(), infos.end(), lacks_wakes)) {
    result_.notes.emplace_back("which threads ended these waits was not recorded; `kymo doctor` says what that needs");
  }
  if (std::string steal = metrics_ ? metrics_->describe_steal() : std::string(); !steal.empty()) {
    result_.notes.push_back(std::move(steal));
  }
  for (std::string& note : describe_own_cost(timeline_, looked_at_, paths_, result_.excess_ns())) {
    result_.notes.push_back(std::move(note));
  }
}

Explanation explain_set(const Timeline& timeline, const ExplainOptions& options, const Instances& instances) {
  if (!options.base_captures.empty()) {
    return Explaining(timeline, options, instances,
                      choose_sides(timeline, instances, durations_of(instances), options.base_captures))
        .run();
  }
  const SlowSet set = choose_slow(instances, options.slow);
  if (set.slow.empty() && (options.slow.number || options.slow.time)) {
    const std::string what = instances.name.empty() ? "frames" : "scopes of '" + instances.name + "'";
    throw SelectionError(instances.all.size() < least_instances
                             ? "there are only " + std::to_string(instances.all.size()) + " " + what + "; at least " +
                                   std::to_string(least_instances) + " are needed to tell what is usual"
                             : "no such frame or time: there are " + count_text(instances.all.size()) + " " + what);
  }
  return Explaining(timeline, options, instances, set).run();
}

/// Processes of whose slow frames the cause is known come first.
std::vector<Explanation> explain_frames(const Timeline& timeline, const ExplainOptions& options,
                                        const Instances& frames) {
  if (!options.base_captures.empty()) {
    return {explain_set(timeline, options, frames)};
  }
  std::vector<Explanation> all;
  std::exception_ptr refusal;
  for (const Instances& one : split_by_process(timeline, frames)) {
    try {
      all.push_back(explain_set(timeline, options, one));
    } catch (const SelectionError&) {
      refusal = std::current_exception();  // other processes may have the number or time
    }
  }
  if (all.empty()) {
    std::rethrow_exception(refusal);
  }
  std::stable_sort(all.begin(), all.end(), [](const Explanation& a, const Explanation& b) {
    return !a.findings.empty() && b.findings.empty();
  });
  if (all.size() > most_processes) {
    const std::size_t left_out = all.size() - most_processes;
    all.resize(most_processes);
    all.back().notes.push_back("frames of " + count_text(left_out) +
                               (left_out == 1 ? " more process" : " more processes") + " are not explained here");
  }
  return all;
}

}  // namespace

}  // namespace stats

std::vector<Explanation> explain(const Timeline& timeline, const ExplainOptions& options) {
  if (!options.site.empty()) {
    return {stats::explain_set(timeline, options, stats::scopes_of_sites(timeline, options.site, options.on_progress))};
  }
  const stats::Instances frames = stats::frames_of_main_streams(timeline);
  if (!frames.all.empty()) {
    return stats::explain_frames(timeline, options, frames);
  }
  if (options.slow.number) {
    throw SelectionError("there is no frame " + std::to_string(*options.slow.number) +
                         ": nothing marked frames; with the name of a site, its scope of that number is explained");
  }
  std::vector<Explanation> all;
  for (const std::string& name : stats::costliest_sites(timeline, stats::most_sites)) {
    Explanation one =
        stats::explain_set(timeline, options, stats::scopes_of_sites(timeline, name, options.on_progress));
    if (all.empty() || !one.findings.empty()) {
      all.push_back(std::move(one));
    }
  }
  if (all.empty()) {
    throw SelectionError("nothing to compare: there are no frames, and no site has " + std::to_string(least_instances) +
                         " scopes");
  }
  return all;
}

}  // namespace kymo
