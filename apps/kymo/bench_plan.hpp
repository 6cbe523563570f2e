// The plan of a grid run: a JSON file, and what it comes to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/grid.hpp"

namespace kymo::command {

/// A command before its placeholders are filled in.
struct CommandPattern {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};

struct GridSetting {
  std::string name;
  bench::Values values;
  CommandPattern command;
};

/// A figure of one metric: lines over a parameter, or bars by setting where there is none.
struct FigurePlan {
  std::string name;
  std::string metric;
  std::string title;
  std::string x;
  std::string series;
};

/// A column of a results table in a form that others prescribe.
struct TableColumn {
  enum class Form { value, difference, reduction, ratio };
  std::string name;
  std::string metric;
  Form form = Form::value;
};

struct GridPlan {
  std::string name;
  std::string directory;  ///< that the runs are started in
  std::vector<GridSetting> settings;
  std::optional<std::size_t> baseline;  ///< which of the settings
  bench::GridOrder order;
  double timeout_s = 0;
  bool is_recorded = true;
  std::vector<bench::Criterion> criteria;
  std::vector<FigurePlan> figures;
  std::string table_path;
  std::vector<TableColumn> table;
  std::string fingerprint;  ///< SHA-256 of all that is in the plan
};

/// Reads a plan. Failure names the file and the JSON pointer of what is wrong.
[[nodiscard]] GridPlan read_plan(const std::string& path);

/// What placeholders stand for in one run.
struct RunPlaces {
  std::string output;   ///< the output directory
  std::string metrics;  ///< the file that the command leaves its metrics in
};
[[nodiscard]] bench::Values placeholders(const GridPlan& plan, const GridSetting& setting, unsigned repetition,
                                         const RunPlaces& places);

}  // namespace kymo::command
