#include "timeline/metric_families.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace kymo::timeline {

namespace {

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<MetricFamily> metric_families(const std::vector<MetricDeclaration>& metrics) {
  struct Numbered {
    MetricFamily family;
    std::vector<std::pair<std::uint32_t, MetricId>> members;
  };
  using Key = std::tuple<ProcessId, std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::size_t> places;
  std::vector<Numbered> all;
  for (const MetricDeclaration& metric : metrics) {
    const auto number =
        metric.source.empty() || metric.labels.empty() ? std::nullopt : number_of(metric.labels.front().second);
    if (!number) {
      continue;
    }
    const std::string& label = metric.labels.front().first;
    const auto [place, is_new] = places.try_emplace(Key{metric.process, metric.name, metric.unit, label}, all.size());
    if (is_new) {
      all.push_back({{metric.name, label, {}}, {}});
    }
    all[place->second].members.emplace_back(*number, metric.id);
  }
  std::vector<MetricFamily> families;
  for (Numbered& one : all) {
    if (one.members.size() < least_family) {
      continue;
    }
    std::stable_sort(one.members.begin(), one.members.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [number, id] : one.members) {
      one.family.members.push_back(id);
    }
    families.push_back(std::move(one.family));
  }
  return families;
}

std::string title_of(const MetricFamily& family) {
  return family.name + ", " + std::to_string(family.members.size()) + ' ' + family.label + 's';
}

}  // namespace kymo::timeline
