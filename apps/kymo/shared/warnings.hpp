// Warnings about captures that readers need before the numbers: drops, damage, data that is not in the file.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

#include "stats/statistics/statistics.hpp"

namespace kymo::command {

/// The warnings, and whether the input is damaged.
struct Warnings {
  std::vector<std::string> texts;
  bool is_damaged = false;

  /// Prints each on stderr as "warning: ...".
  void print() const;
  [[nodiscard]] int exit_code() const;
};

/// Checks for drops, damage found so far, recordings cut short, processes off the axis, and sampling of scopes.
[[nodiscard]] Warnings find_warnings(const Timeline& timeline, const stats::DropTotals& drops);

/// Prints JSON on stdout. Bytes that are not UTF-8 become U+FFFD.
void print_json(const nlohmann::ordered_json& json);

}  // namespace kymo::command
