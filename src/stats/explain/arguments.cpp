#include "stats/explain/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stats/common/sample_tests.hpp"
#include "stats/common/value_text.hpp"
#include "stats/explain/finding_text.hpp"
#include "stats/explain/permutation_test.hpp"

namespace kymo::stats {

namespace {

constexpr NumberForm argument_form{3, false};
/// An argument goes along if chance is less likely than this, over all that are tried.
constexpr double most_p_of_arguments = 0.01;
constexpr std::size_t most_arguments_named = 2;
constexpr std::size_t least_values_of_argument = 3;
constexpr std::size_t most_text_shown = 40;
/// Numbers GPU scopes one after the other, so it only tells how late they are.
constexpr std::string_view numbering_argument = "correlation";

/// A number, or how often an argument has a text.
struct ArgumentColumn {
  SubjectId outer = 0;  ///< the scope around the cause's own that has it; 0: the cause's own
  NameId name{};
  const std::string* text = nullptr;  ///< none: a number
  std::vector<double> values;         ///< by instance; NaN: the instance has no such argument
  double slow = 0;                    ///< mean
  double usual = 0;
  double variation = 0;  ///< of a text; numbers come first
  double p_value = 1;
};

/// Of which scope, whose name, and of which text.
using ArgumentColumns = std::map<std::tuple<SubjectId, NameId, std::uint32_t>, ArgumentColumn>;
constexpr std::uint32_t number_column = 0xFFFFFFFF;

void add_values(const FindingFacts& facts, SubjectId outer, NameId name, const ArgumentValues& of_name,
                std::size_t instance, ArgumentColumns& columns) {
  const auto column_of = [&](std::uint32_t text) -> std::vector<double>& {
    const auto [place, is_new] = columns.try_emplace({outer, name, text});
    if (is_new) {
      place->second.outer = outer;
      place->second.name = name;
      place->second.text = text == number_column ? nullptr : &facts.paths.texts[text];
      place->second.values.assign(facts.paths.paths.size(), std::nan(""));
    }
    return place->second.values;
  };
  if (of_name.count != 0 && std::isfinite(of_name.sum)) {
    column_of(number_column)[instance] = of_name.sum / static_cast<double>(of_name.count);
  }
  for (const auto& [text, count] : of_name.texts) {
    if (text != other_text) {
      column_of(text)[instance] = static_cast<double>(count) / static_cast<double>(of_name.text_count);
    }
  }
}

/// An instance whose calls have other texts has this one in none of them.
void add_absent_texts(const std::map<std::pair<SubjectId, NameId>, std::vector<bool>>& has_texts,
                      ArgumentColumns& columns) {
  for (auto& [key, column] : columns) {
    for (std::size_t i = 0; column.text != nullptr && i < column.values.size(); ++i) {
      if (std::isnan(column.values[i]) && has_texts.at({column.outer, column.name})[i]) {
        column.values[i] = 0;
      }
    }
  }
}

/// Sets what both sides have; puts the mean in place of what is missing, which says nothing to the test. False if too
/// few instances have the argument.
bool summarise(const LookedAt& looked_at, ArgumentColumn& column) {
  const auto [slow, usual] = sides_of(looked_at, column.values);
  if (slow.size() < least_values_of_argument || usual.size() < least_values_of_argument) {
    return false;
  }
  const auto mean_of = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double mean = fill_missing(column.values);
  for (const double value : column.values) {
    column.variation += (value - mean) * (value - mean);
  }
  column.variation = column.text == nullptr ? std::numeric_limits<double>::infinity() : column.variation;
  column.slow = mean_of(slow);
  column.usual = mean_of(usual);
  return column.text == nullptr || column.slow > column.usual;
}

/// The scopes of a cause, and all around them: whose argument it is where it is not of the cause's own.
std::map<SubjectId, SubjectId> scopes_of(const FindingFacts& facts, const Cause& cause) {
  std::map<SubjectId, SubjectId> scopes;
  std::vector<SubjectId> inner;
  for (const OwnerId owner : cause.owners) {
    const SubjectId subject = facts.owners.owner(owner).subject;
    if (scopes.emplace(subject, 0).second) {
      inner.push_back(subject);
    }
  }
  while (!inner.empty()) {
    const SubjectId subject = inner.back();
    inner.pop_back();
    for (auto around = facts.paths.around.lower_bound({subject, 0});
         around != facts.paths.around.end() && around->first == subject; ++around) {
      if (around->second != 0 && scopes.emplace(around->second, around->second).second) {
        inner.push_back(around->second);
      }
    }
  }
  return scopes;
}

std::vector<ArgumentColumn> columns_of(const FindingFacts& facts, const Cause& cause) {
  const std::map<SubjectId, SubjectId> scopes = scopes_of(facts, cause);
  ArgumentColumns all;
  std::map<std::pair<SubjectId, NameId>, std::vector<bool>> has_texts;
  for (std::size_t i = 0; i < facts.paths.paths.size(); ++i) {
    for (const auto& [key, values] : facts.paths.paths[i].arguments) {
      const auto scope = scopes.find(key.first);
      if (scope != scopes.end() && facts.timeline.name(key.second) != numbering_argument) {
        add_values(facts, scope->second, key.second, values, i, all);
        if (values.text_count != 0) {
          has_texts.try_emplace({scope->second, key.second}, facts.paths.paths.size()).first->second[i] = true;
        }
      }
    }
  }
  add_absent_texts(has_texts, all);
  std::vector<ArgumentColumn> columns;
  for (auto& [key, column] : all) {
    if (summarise(facts.looked_at, column)) {
      columns.push_back(std::move(column));
    }
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [](const ArgumentColumn& a, const ArgumentColumn& b) { return a.variation > b.variation; });
  columns.resize(std::min(columns.size(), most_argument_columns));
  return columns;
}

std::string describe_column(const FindingFacts& facts, const ArgumentColumn& column) {
  const std::string of = column.outer == 0 ? "" : " of \"" + facts.owners.subject(column.outer).name + '"';
  const std::string name = std::string(facts.timeline.name(column.name)) + of;
  if (column.text == nullptr) {
    return name + " = " + value_text(column.slow, "", argument_form) + " against " +
           value_text(column.usual, "", argument_form);
  }
  const auto percent = [](double share) { return std::to_string(std::llround(100 * share)) + " %"; };
  return name + " = " + shortened(*column.text, most_text_shown) + " in " + percent(column.slow) +
         " of calls against " + percent(column.usual);
}

}  // namespace

std::string describe_arguments(const FindingFacts& facts, const Cause& cause) {
  std::vector<ArgumentColumn> columns = columns_of(facts, cause);
  std::vector<const std::vector<double>*> values;
  values.reserve(columns.size());
  for (const ArgumentColumn& column : columns) {
    values.push_back(&column.values);
  }
  const std::vector<double> p_values = permutation_p_values(values, facts.looked_at.is_slow, facts.seed);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].p_value = p_values[i];
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [](const ArgumentColumn& a, const ArgumentColumn& b) { return a.p_value < b.p_value; });
  std::string text;
  for (std::size_t i = 0;
       i < std::min(columns.size(), most_arguments_named) && columns[i].p_value <= most_p_of_arguments; ++i) {
    text += (i == 0 ? ", with " : ", ") + describe_column(facts, columns[i]);
  }
  return text;
}

}  // namespace kymo::stats
