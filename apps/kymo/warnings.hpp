// What a reader of captures must know before the numbers: drops, damage, what is not in the file.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

#include "stats/statistics.hpp"

namespace kymo::command {

/// What there is to warn of, and whether input is damaged.
struct Warnings {
  std::vector<std::string> texts;
  bool is_damaged = false;

  /// Prints each on stderr as "warning: ...".
  void print() const;
  [[nodiscard]] int exit_code() const;
};

/// Looks at drops, damage found so far, recordings cut short, processes off the axis, and
/// sampling of scopes.
[[nodiscard]] Warnings find_warnings(const Timeline& timeline, const stats::DropTotals& drops);

/// Prints JSON on stdout; text that is not UTF-8 comes out with U+FFFD.
void print_json(const nlohmann::ordered_json& json);

}  // namespace kymo::command
