// Compares two captures.
#include "panel/compare/judged.hpp"

#include <array>

#include "panel/draw/text.hpp"
#include "stats/compare/configuration.hpp"

namespace kymo::panel {

namespace {

using stats::Verdict;

void read(const SideRuns& side, stats::SideSamples& samples, stats::Configuration& facts,
          const std::function<void(double)>& on_progress) {
  for (std::size_t run = 0; run < side.count; ++run) {
    const Timeline timeline = side.open(run);
    samples.add_run(timeline, [&](double share) {
      on_progress((static_cast<double>(run) + share) / static_cast<double>(side.count));
    });
    facts.add(timeline);
  }
}

std::string values_text(const std::vector<std::string>& values) {
  return values.empty() ? "not known" : clean_text(values.front(), 60) + (values.size() > 1 ? ", ..." : "");
}

}  // namespace

std::shared_ptr<const Judged> judge(const SideRuns& base, const SideRuns& changed,
                                    const std::function<void(double)>& on_progress) {
  auto judged = std::make_shared<Judged>(base.count, changed.count);
  stats::Configuration base_facts;
  stats::Configuration new_facts;
  read(base, judged->base, base_facts, [&](double share) { on_progress(share / 2); });
  read(changed, judged->changed, new_facts, [&](double share) { on_progress(0.5 + share / 2); });
  judged->comparison = stats::compare(judged->base, judged->changed);
  for (const stats::ComparedFact& fact : stats::compare_configurations(base_facts, new_facts)) {
    if (fact.differs() && fact.weight != stats::ComparedFact::Weight::other) {
      judged->warnings.push_back(clean_text(fact.key, 40) + " differs: " + values_text(fact.base) + " in base, " +
                                 values_text(fact.changed) + " in new");
    }
  }
  return judged;
}

std::string verdicts_text(const stats::Comparison& comparison) {
  std::array<std::size_t, static_cast<std::size_t>(Verdict::too_few_samples) + 1> counts{};
  for (const stats::ComparedThing& thing : comparison.things) {
    ++counts[static_cast<std::size_t>(thing.verdict)];
  }
  std::string text;
  for (std::size_t verdict = 0; verdict < counts.size(); ++verdict) {
    if (counts[verdict] != 0) {
      text += (text.empty() ? "" : ", ") + count_text(counts[verdict]) + " " +
              std::string(name_of(static_cast<Verdict>(verdict)));
    }
  }
  return text;
}

}  // namespace kymo::panel
