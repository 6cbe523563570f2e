// The plan of a grid: reads and checks its JSON file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/grid.hpp"

namespace kymo::command {

/// A command with placeholders.
struct CommandPattern {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};

struct GridSetting {
  std::string name;
  bench::Values values;
  CommandPattern command;
};

/// A figure of one metric: lines over a parameter, or bars by setting without one.
struct FigurePlan {
  std::string name;
  std::string metric;
  std::string title;
  std::string x;
  std::string series;
};

/// A column of a results table in a prescribed format.
struct TableColumn {
  enum class Form { value, difference, reduction, ratio };
  std::string name;
  std::string metric;
  Form form = Form::value;
};

struct GridPlan {
  std::string name;
  std::string directory;  ///< working directory of the runs
  std::vector<GridSetting> settings;
  std::optional<std::size_t> baseline;  ///< index of the baseline setting
  bench::GridOrder order;
  double timeout_s = 0;
  bool is_recorded = true;
  std::vector<bench::Criterion> criteria;
  std::vector<FigurePlan> figures;
  std::string table_path;
  std::vector<TableColumn> table;
  std::string fingerprint;  ///< SHA-256 of the whole plan
};

/// Reads a plan. Throws Failure, which names the file and the JSON pointer of the error.
[[nodiscard]] GridPlan read_plan(const std::string& path);

/// The values of the placeholders in one run.
struct RunPlaces {
  std::string output;   ///< the output directory
  std::string metrics;  ///< the file in which the command leaves its metrics
};
[[nodiscard]] bench::Values placeholders(const GridPlan& plan, const GridSetting& setting, unsigned repetition,
                                         const RunPlaces& places);

}  // namespace kymo::command
