// A grid of settings: the parameters and order of runs, and the evaluation of results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::bench {

/// Names and values, in order.
using Values = std::vector<std::pair<std::string, std::string>>;

struct Parameter {
  std::string name;
  std::vector<std::string> values;
};

/// Every combination of the parameters' values; the last parameter varies fastest. One empty combination for no
/// parameters. Throws std::length_error for more than 100,000.
[[nodiscard]] std::vector<Values> combine(const std::vector<Parameter>& parameters);

/// Replaces each {name} by its value, "{{" and "}}" by one brace. Throws std::invalid_argument for an unknown name or a
/// single brace.
[[nodiscard]] std::string fill(std::string_view pattern, const Values& values);

/// One run: the setting and its repetition.
struct GridRun {
  std::size_t setting = 0;
  unsigned repetition = 0;
  bool is_warmup = false;
};

struct GridOrder {
  unsigned warmups = 0;
  unsigned repetitions = 1;
  std::uint64_t seed = 42;
  bool is_shuffled = true;
};

/// All runs in order: the warm-ups, then round by round each setting once, so that drift affects all settings alike.
/// Rounds are shuffled; a seed gives the same order on all platforms.
[[nodiscard]] std::vector<GridRun> order_runs(std::size_t settings, const GridOrder& order);

/// The results of one setting: for each metric one value per run; NaN if a run had none.
using Measurements = std::map<std::string, std::vector<double>>;

/// The nearest-rank median of the numeric values; NaN for none.
[[nodiscard]] double median_of(const Measurements& measurements, const std::string& metric);
/// Minimum and maximum of the numeric values; NaN for none.
[[nodiscard]] std::pair<double, double> range_of(const Measurements& measurements, const std::string& metric);

/// A requirement on a result.
struct Criterion {
  std::string name;
  std::string metric;
  std::optional<double> at_least;
  std::optional<double> at_most;
  bool is_relative = false;  ///< applies to the ratio to the baseline
};

struct Verdict {
  enum class Result { met, missed, unknown };
  Result result = Result::unknown;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< the judged value
};

/// Judges the median of a metric. Unknown without a value, or without a baseline to compare with.
[[nodiscard]] Verdict judge(const Criterion& criterion, const Measurements& measurements, const Measurements* baseline);

/// Makes a text usable in file names: replaces problematic characters by "_".
[[nodiscard]] std::string as_file_name(std::string_view text);

}  // namespace kymo::bench
