#include "stats/compare/configuration.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace kymo::stats {

namespace {

struct KnownFact {
  std::string_view key;
  ComparedFact::Weight weight = ComparedFact::Weight::other;
};

using FactWeight = ComparedFact::Weight;

constexpr std::array<KnownFact, 11> known_facts{{{"command", FactWeight::other},
                                                 {"host", FactWeight::other},
                                                 {"executable", FactWeight::other},
                                                 {"build_id", FactWeight::build},
                                                 {"cpu", FactWeight::machine},
                                                 {"cpu_count", FactWeight::machine},
                                                 {"cpu_governor", FactWeight::machine},
                                                 {"nvpmodel", FactWeight::machine},
                                                 {"board", FactWeight::machine},
                                                 {"kernel", FactWeight::other},
                                                 {"architecture", FactWeight::machine}}};

bool changes_by_itself(std::string_view key) {
  return key == "started" || key == "starter" || key == "job" || key == "sampler.start_ns" ||
         key.substr(0, 7) == "record." || key.substr(0, 7) == "sensor." || key.substr(0, 9) == "recovery." ||
         key.substr(0, 6) == "clock.";
}

/// Whether a process did more than sample, unlike `kymo record` next to the program.
bool did_something(const Timeline& timeline, ProcessId process) {
  const Declarations& declared = timeline.declarations();
  const auto is_its = [process](const auto& declaration) { return declaration.process == process; };
  return std::any_of(declared.sites.begin(), declared.sites.end(), is_its) ||
         std::any_of(declared.frame_streams.begin(), declared.frame_streams.end(), is_its);
}

std::vector<std::string> values_of(const Configuration& configuration, const std::string& key) {
  const auto found = configuration.facts().find(key);
  return found == configuration.facts().end() ? std::vector<std::string>()
                                              : std::vector<std::string>(found->second.begin(), found->second.end());
}

}  // namespace

void Configuration::add(const Timeline& timeline) {
  const auto note = [this](const std::string& key, const std::string& value) {
    if (!value.empty()) {
      facts_[key].insert(value);
    }
  };
  const auto& processes = timeline.processes();
  const auto is_busy = [&timeline](const TimelineProcess& process) {
    return did_something(timeline, process.declaration.id);
  };
  const bool has_busy = std::any_of(processes.begin(), processes.end(), is_busy);
  for (const TimelineProcess& process : processes) {
    if (has_busy && !is_busy(process)) {
      continue;
    }
    note("command", process.declaration.command_line);
    note("host", process.declaration.host);
    for (const auto& [key, value] : process.infos) {
      if (!changes_by_itself(key)) {
        note(key, value);
      }
    }
  }
}

std::vector<ComparedFact> compare_configurations(const Configuration& base, const Configuration& changed) {
  std::vector<ComparedFact> compared;
  std::set<std::string> others;
  for (const Configuration* const side : {&base, &changed}) {
    for (const auto& [key, values] : side->facts()) {
      others.insert(key);
    }
  }
  for (const KnownFact& known : known_facts) {
    const std::string key(known.key);
    if (others.erase(key) != 0) {
      compared.push_back({key, values_of(base, key), values_of(changed, key), known.weight});
    }
  }
  for (const std::string& key : others) {
    compared.push_back({key, values_of(base, key), values_of(changed, key), FactWeight::other});
  }
  return compared;
}

}  // namespace kymo::stats
