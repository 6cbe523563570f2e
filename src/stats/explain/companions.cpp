#include "stats/explain/companions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/metric_name.hpp"
#include "stats/common/sample_tests.hpp"
#include "stats/common/value_text.hpp"
#include "stats/explain/explanation_text.hpp"

namespace kymo::stats {

namespace {

/// At most this false discovery rate.
constexpr double most_p_of_companions = 0.01;
constexpr std::size_t least_values = 3;
/// Of the machine's CPU time, in percent: less is not worth a sentence.
constexpr double least_steal = 1;

/// Metrics of bytes: of each group the one that differs most is named.
constexpr std::array<std::array<std::string_view, 2>, 3> byte_groups{
    {{"io_MB", ""}, {"process_read_bytes", "process_written_bytes"}, {"disk_read", "disk_write"}}};

std::optional<std::size_t> byte_group_of(std::string_view metric) {
  for (std::size_t group = 0; group < byte_groups.size(); ++group) {
    for (const std::string_view name : byte_groups[group]) {
      if (!name.empty() && name == metric) {
        return group;
      }
    }
  }
  return std::nullopt;
}

/// Puts corrected p-values in place, and leaves only what is sure.
void keep_sure(std::vector<Companion>& companions) {
  std::vector<double> p_values;
  p_values.reserve(companions.size());
  for (const Companion& companion : companions) {
    p_values.push_back(companion.p_value);
  }
  const std::vector<double> corrected = correct_p_values(p_values);
  for (std::size_t i = 0; i < companions.size(); ++i) {
    companions[i].p_value = corrected[i];
  }
  std::erase_if(companions,
                [](const Companion& one) { return one.p_value > most_p_of_companions || one.slow == one.usual; });
}

}  // namespace

InstanceMetrics::InstanceMetrics(const Timeline& timeline, const LookedAt& looked_at)
    : timeline_(timeline),
      looked_at_(looked_at),
      values_(read_instance_values(timeline, looked_at.instances,
                                   // frame_ms is what is being explained.
                                   [](const MetricDeclaration& metric) { return metric.name != "frame_ms"; })) {}

std::optional<Companion> InstanceMetrics::compare(MetricId metric, const std::vector<bool>& is_chosen) const {
  const MetricValues& values = values_.at(metric);
  std::vector<double> compared(is_chosen.size(), std::nan(""));
  for (std::size_t i = 0; i < is_chosen.size(); ++i) {
    if (values.has(i) && (is_chosen[i] || !looked_at_.is_slow[i])) {
      compared[i] = values.mean(i);
    }
  }
  const auto [slow, usual] = sides_of(looked_at_, compared);
  if (slow.size() < least_values || usual.size() < least_values) {
    return std::nullopt;
  }
  return Companion{metric, percentile_of(slow, 50), percentile_of(usual, 50), mann_whitney(usual, slow).p_value};
}

std::vector<Companion> InstanceMetrics::companions(std::size_t most) const {
  std::vector<Companion> companions;
  for (const auto& [metric, values] : values_) {
    companions.push_back(compare(metric, looked_at_.is_slow).value_or(Companion{metric, 0, 0, 1}));
  }
  keep_sure(companions);
  std::stable_sort(companions.begin(), companions.end(),
                   [](const Companion& a, const Companion& b) { return a.p_value < b.p_value; });
  // Two processes of a machine may read the same, such as the control group of both.
  std::set<std::pair<std::string, std::string>> known;
  const auto is_known = [&](const Companion& one) {
    const MetricDeclaration& metric = timeline_.metric(one.metric);
    return !known.emplace(timeline_.process(metric.process).declaration.host, base::full_name(metric)).second;
  };
  std::erase_if(companions, is_known);
  companions.resize(std::min(companions.size(), most));
  return companions;
}

std::vector<Companion> InstanceMetrics::bytes_with(const Cause& cause) const {
  std::vector<bool> is_chosen(looked_at_.instances.size());
  for (const std::size_t instance : instances_with(looked_at_, cause)) {
    is_chosen[instance] = true;
  }
  std::vector<Companion> sure;
  for (const auto& [metric, values] : values_) {
    if (byte_group_of(timeline_.metric(metric).name)) {
      if (const auto compared = compare(metric, is_chosen)) {
        sure.push_back(*compared);
      }
    }
  }
  keep_sure(sure);
  std::array<std::optional<Companion>, byte_groups.size()> most;
  for (const Companion& one : sure) {
    std::optional<Companion>& of_group = most[*byte_group_of(timeline_.metric(one.metric).name)];
    if (one.slow > one.usual && (!of_group || one.slow - one.usual > of_group->slow - of_group->usual)) {
      of_group = one;
    }
  }
  std::vector<Companion> named;
  for (const std::optional<Companion>& of_group : most) {
    if (of_group) {
      named.push_back(*of_group);
    }
  }
  return named;
}

std::string InstanceMetrics::describe_steal() const {
  for (const auto& [metric, values] : values_) {
    const MetricDeclaration& declared = timeline_.metric(metric);
    if (declared.name != "cpu_steal" || !declared.labels.empty() || declared.kind != MetricKind::gauge) {
      continue;
    }
    std::vector<double> steal(looked_at_.instances.size());
    for (std::size_t i = 0; i < steal.size(); ++i) {
      steal[i] = values.has(i) ? values.mean(i) : std::nan("");
    }
    const auto compared = compare(metric, looked_at_.is_slow);
    const auto [slow, usual] = means_of(looked_at_, steal);
    if (compared && compared->p_value <= most_p_of_companions && slow - usual >= least_steal) {
      return "goes along: the host took " + value_text(slow, "%") + " of the machine's CPU time in slow ones against " +
             value_text(usual, "%") +
             " in usual ones (cpu_steal). What it takes from a running thread counts as computing";
    }
  }
  return {};
}

std::string describe_bytes(const Timeline& timeline, const std::vector<Companion>& bytes) {
  std::string text;
  for (const Companion& one : bytes) {
    text += (text.empty() ? "; goes along: " : ", ") + companion_values_text(timeline.metric(one.metric), one);
  }
  return text;
}

}  // namespace kymo::stats
