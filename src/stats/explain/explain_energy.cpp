#include <kymo/explain_energy.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <kymo/statistics.hpp>

#include "stats/common/value_text.hpp"
#include "stats/energy/interval_energy.hpp"
#include "stats/explain/causes.hpp"
#include "stats/explain/finding_text.hpp"
#include "stats/paths/instances.hpp"
#include "stats/paths/owners.hpp"

namespace kymo {

namespace stats {

namespace {

constexpr NumberForm watts_form{3, false};
constexpr std::size_t most_energy_findings = 5;
constexpr std::size_t most_less = 3;
constexpr std::size_t most_costliest = 5;
constexpr std::size_t least_for_energy_interval = 3;

/// A user's joules, and its share of the power over time, of each instance.
struct Usage {
  std::vector<OwnerId> owners;
  std::vector<double> joules;
  std::vector<double> share_s;
};

class ExplainingEnergy {
 public:
  ExplainingEnergy(const Timeline& timeline, const ExplainOptions& options)
      : timeline_(timeline), options_(options), energies_(timeline), owners_(timeline) {}

  EnergyExplanation run() {
    result_.name = options_.site;
    result_.is_comparison = !options_.base_captures.empty();
    result_.has_power = energies_.has_sources();
    if (!result_.has_power) {
      return std::move(result_);
    }
    measure();
    const SlowSet set = choose();
    describe_set(set);
    if (set.slow.empty() || set.usual.empty() || result_.excess_joules() <= 0) {
      return std::move(result_);
    }
    looked_at_ = look_at(instances_, joules_, set);
    if (!result_.is_comparison || amounts_differ(looked_at_, options_.most_p, options_.seed)) {
      divide();
      find_findings();
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] EnergyInterval interval_of(const Instance& instance) const {
    return {{instance.start_ns, instance.end_ns()}, timeline_.track(instance.track).process};
  }
  [[nodiscard]] std::string things() const { return result_.name.empty() ? "frames" : "scopes"; }

  [[nodiscard]] Instances find_instances() const {
    if (!options_.site.empty()) {
      return scopes_of_sites(timeline_, options_.site, options_.on_progress);
    }
    Instances frames = frames_of_main_streams(timeline_);
    if (frames.all.empty()) {
      throw SelectionError(
          "joules are explained of frames or of a site's scopes, and there are no frames: mark them with "
          "frame_mark(), or name a site");
    }
    return frames;
  }

  void measure() {
    Instances all = find_instances();
    instances_.name = result_.name = all.name;
    for (const Instance& instance : all.all) {
      const EnergyInterval interval = interval_of(instance);
      const Energy energy = energies_.between(interval);
      if (2 * energy.unknown_s * 1e9 > static_cast<double>(instance.duration_ns) || !std::isfinite(energy.joules)) {
        ++result_.unknown;
        continue;
      }
      const std::int64_t renewal_ns = energies_.renewal_ns(interval.process);
      result_.renewal_ns = std::max(result_.renewal_ns, renewal_ns);
      result_.unresolved += instance.duration_ns < renewal_ns ? 1U : 0U;
      instances_.all.push_back(instance);
      joules_.push_back(energy.joules);
    }
    result_.instances = instances_.all.size();
    if (all.is_cut) {
      result_.notes.push_back("only the first " + count_text(most_instances) + " were looked at");
    }
    if (2 * result_.unresolved > result_.instances) {
      result_.notes.push_back("the power is known every " + duration_text(static_cast<double>(result_.renewal_ns)) +
                              ", and most " + things() +
                              " are shorter: what one took counts in part for its neighbours");
    }
    if (result_.unknown != 0) {
      const std::string left_out = result_.unknown == 1
                                       ? "one of the " + things() + " is left out"
                                       : count_text(result_.unknown) + " " + things() + " are left out";
      result_.notes.push_back(left_out + ": no source could be read for half of that time");
    }
  }

  [[nodiscard]] SlowSet choose() const {
    if (result_.is_comparison) {
      return choose_sides(timeline_, instances_, joules_, options_.base_captures);
    }
    SlowSetOptions how = options_.slow;
    how.over_ns = std::nullopt;  // not for joules
    SlowSet set = choose_slow(instances_, joules_, how);
    if (set.slow.empty() && is_chosen() && result_.instances >= least_instances) {
      throw SelectionError("no such frame or time: there are " + count_text(result_.instances) + " " + things() +
                           " with joules");
    }
    return set;
  }
  [[nodiscard]] bool is_chosen() const { return options_.slow.number || options_.slow.time || result_.is_comparison; }

  void describe_set(const SlowSet& set) {
    result_.costly = set.slow.size();
    result_.usual = set.usual.size();
    result_.costly_mean_joules = mean_of_set(joules_, set.slow);
    result_.usual_mean_joules = mean_of_set(joules_, set.usual);
    std::vector<double> ascending = joules_;
    std::sort(ascending.begin(), ascending.end());
    result_.median_joules = ascending.empty() ? 0 : ascending[ascending.size() / 2];
    result_.most_joules = ascending.empty() ? 0 : ascending.back();
    for (std::size_t i = 0; i < std::min(set.slow.size(), most_costliest); ++i) {
      result_.costliest.push_back({instances_.all[set.slow[i]], joules_[set.slow[i]]});
    }
  }

  void add(const OwnerId owner, std::size_t instance, double joules, double share_s) {
    const Owner& who = owners_.owner(owner);
    Usage& usage = usages_[{who.kind, who.subject}];
    if (usage.joules.empty()) {
      usage.joules.resize(looked_at_.instances.size());
      usage.share_s.resize(looked_at_.instances.size());
    }
    if (std::find(usage.owners.begin(), usage.owners.end(), owner) == usage.owners.end()) {
      usage.owners.push_back(owner);
    }
    usage.joules[instance] += joules;
    usage.share_s[instance] += share_s;
    auto& of_track = by_track_[owner];
    of_track += (looked_at_.is_slow[instance] ? 1.0 : 0.0) * joules;
  }

  /// What nobody used is a part too, so that the parts of an instance add up to its joules.
  void divide() {
    std::vector<EnergyInterval> intervals;
    intervals.reserve(looked_at_.instances.size());
    for (const Instance& instance : looked_at_.instances) {
      intervals.push_back(interval_of(instance));
    }
    const std::vector<DividedEnergy> divided = energies_.divide(intervals, options_.on_progress);
    const OwnerId rest = owners_.owner_of({0, OwnerKind::computing, 0, {}});
    for (std::size_t i = 0; i < divided.size(); ++i) {
      double left = looked_at_.amounts[i];
      for (const EnergyPart& part : divided[i].parts) {
        const Owner owner =
            part.user.span
                ? Owner{0, OwnerKind::queue, owners_.subject_of(timeline_.name(part.user.span)), {part.user.track, {}}}
                : Owner{0, OwnerKind::computing, owners_.subject_of(part.user.site), {part.user.track, {}}};
        add(owners_.owner_of(owner), i, part.joules, part.share_s);
        left -= part.joules;
      }
      add(rest, i, left, 0);
    }
  }

  void find_findings() {
    std::vector<Cause> causes;
    for (auto& [key, usage] : usages_) {
      causes.push_back({usage.owners, usage.joules, 0, 1});
    }
    test_causes(looked_at_, causes, options_.seed);
    const double least = options_.least_share * result_.excess_joules();
    result_.unexplained_joules = result_.excess_joules();
    bool is_rare = false;
    for (const Cause* cause : lengthening(causes, least, options_.most_p)) {
      if (result_.findings.size() == most_energy_findings) {
        break;
      }
      EnergyFinding finding = finding_of(*cause);
      if (finding.interval && finding.interval->low <= 0) {
        continue;
      }
      if (!is_chosen() && count_occasions(looked_at_, *cause) < least_occasions) {
        is_rare = true;
        continue;
      }
      result_.unexplained_joules -= finding.excess_joules;
      result_.findings.push_back(std::move(finding));
    }
    for (const Cause* cause : shortening(causes, least, options_.most_p)) {
      if (result_.less.size() == most_less || result_.findings.empty()) {
        break;
      }
      result_.unexplained_joules -= cause->excess;
      result_.less.push_back(finding_of(*cause));
    }
    if (is_rare) {
      result_.notes.push_back("what came on fewer than " + std::to_string(least_occasions) +
                              " occasions is no finding: other programs use the machine's power as well");
    }
  }

  [[nodiscard]] EnergyFinding finding_of(const Cause& cause) const {
    EnergyFinding finding;
    const Owner& owner = owners_.owner(cause.owners.front());
    finding.subject = owners_.subject(owner.subject);
    finding.excess_joules = cause.excess;
    finding.share = cause.excess / result_.excess_joules();
    finding.p_value = cause.p_value;
    if (looked_at_.slow >= least_for_energy_interval) {
      finding.interval = bootstrap_share(looked_at_, cause, options_.seed);
    }
    finding.in_instances = instances_with(looked_at_, cause).size();
    double most = -1;
    for (const OwnerId id : cause.owners) {
      const double joules = by_track_.at(id);
      if (owners_.owner(id).actor.track && joules > most) {
        most = joules;
        finding.thread = timeline_.track(owners_.owner(id).actor.track).name;
      }
    }
    finding.text = text_of(owner, finding, usages_.at({owner.kind, owner.subject}));
    for (std::size_t i = 0; i < cause.owned.size(); ++i) {
      if (looked_at_.is_slow[i]) {
        finding.costly.push_back({looked_at_.instances[i], cause.owned[i]});
      }
    }
    std::stable_sort(finding.costly.begin(), finding.costly.end(),
                     [](const InstanceJoules& a, const InstanceJoules& b) { return a.joules > b.joules; });
    return finding;
  }

  [[nodiscard]] std::string text_of(const Owner& owner, const EnergyFinding& finding, const Usage& usage) const {
    if (owner.kind == OwnerKind::queue) {
      return (finding.thread.empty() ? "a queue" : finding.thread) + " running " + quoted(finding.subject) +
             describe_change(usage);
    }
    if (owner.subject == 0) {
      return "while no scope was open";
    }
    return "in " + quoted(finding.subject) + (finding.thread.empty() ? "" : " on " + finding.thread) +
           describe_change(usage);
  }

  /// Whether it ran longer, or while the machine took more power: which of the two makes more of the excess.
  [[nodiscard]] std::string describe_change(const Usage& usage) const {
    double joules[2] = {};
    double seconds[2] = {};
    for (std::size_t i = 0; i < usage.joules.size(); ++i) {
      joules[looked_at_.is_slow[i] ? 1 : 0] += usage.joules[i];
      seconds[looked_at_.is_slow[i] ? 1 : 0] += usage.share_s[i];
    }
    const auto costly = static_cast<double>(looked_at_.slow);
    const double usual = static_cast<double>(looked_at_.instances.size()) - costly;
    if (seconds[0] <= 0 || seconds[1] <= 0) {
      return seconds[1] > 0 ? ", which usually does not run" : "";
    }
    const double usual_watts = joules[0] / seconds[0];
    const double costly_watts = joules[1] / seconds[1];
    const double by_time = (seconds[1] / costly - seconds[0] / usual) * usual_watts;
    const double by_power = (costly_watts - usual_watts) * seconds[1] / costly;
    const bool is_less = by_time + by_power < 0;
    if (is_less ? by_time <= by_power : by_time >= by_power) {
      return (is_less ? ": for less time (" : ": for longer (") + duration_text(1e9 * seconds[1] / costly, watts_form) +
             " of the machine against " + duration_text(1e9 * seconds[0] / usual, watts_form) + ")";
    }
    return (is_less ? ": at less power (" : ": at more power (") + value_text(costly_watts, "W", watts_form) +
           " against " + value_text(usual_watts, "W", watts_form) + ")";
  }

  const Timeline& timeline_;
  const ExplainOptions& options_;
  IntervalEnergies energies_;
  OwnerTable owners_;
  Instances instances_;
  std::vector<double> joules_;
  LookedAt looked_at_;
  std::map<std::pair<OwnerKind, SubjectId>, Usage> usages_;
  std::map<OwnerId, double> by_track_;  // joules in the instances that took more
  EnergyExplanation result_;
};

std::string joules_text(double joules) {
  return (joules < 0 ? "-" : "") + value_text(std::abs(joules), "J");
}

}  // namespace

}  // namespace stats

EnergyExplanation explain_energy(const Timeline& timeline, const ExplainOptions& options) {
  return stats::ExplainingEnergy(timeline, options).run();
}

std::string describe(const EnergyExplanation& why) {
  using stats::joules_text;
  if (!why.has_power) {
    return "no power was recorded, so nothing can be said of joules; `kymo doctor` tells which sources this machine has";
  }
  const std::string things = why.name.empty() ? "frames" : "scopes \"" + why.name + "\"";
  const std::string all = stats::count_text(why.instances) + " " + things;
  const std::string against =
      " (" + joules_text(why.costly_mean_joules) + " against " + joules_text(why.usual_mean_joules) + ")";
  const auto percent = std::llround(100 * (1 - why.unexplained_joules / why.excess_joules()));
  const std::string explained = why.findings.empty() ? "nothing stands out: no cause of it is sure"
                                                     : std::to_string(percent) + " % of that is explained";
  if (why.is_comparison) {
    const std::string who = "new " + things + " took ";
    return why.excess_joules() <= 0
               ? who + "no more joules than those of the base" + against
               : who + joules_text(why.excess_joules()) + " more than those of the base" + against + "; " + explained;
  }
  if (why.instances < least_instances) {
    return "nothing can be said: the joules of " + all + " are known, and at least " + std::to_string(least_instances) +
           " are needed to tell what is usual";
  }
  if (why.costly == 0) {
    return "nothing stands out: of " + all + ", one took " + joules_text(why.most_joules) + " at most, the median is " +
           joules_text(why.median_joules) + "; chance explains that";
  }
  const std::string who =
      why.costly == 1 ? "one of " + all + " took " : std::to_string(why.costly) + " of " + all + " took ";
  if (why.excess_joules() <= 0) {
    return who + "no more joules than usual" + against;
  }
  return who + joules_text(why.excess_joules()) + " more than usual" + against + "; " + explained;
}

}  // namespace kymo
