// A grid of settings: what a command is run with, in which order, and what its results mean.
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

/// Every combination of the parameters' values, the last parameter varying fastest. One empty combination for none.
/// std::length_error where there are over 100,000.
[[nodiscard]] std::vector<Values> combine(const std::vector<Parameter>& parameters);

/// Replaces each {name} by its value, "{{" and "}}" by one brace. std::invalid_argument for a name that is not there
/// and a brace that stands alone.
[[nodiscard]] std::string fill(std::string_view pattern, const Values& values);

/// One run: which setting, which repetition of it.
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

/// All runs in the order to do them: the warm-ups, then round by round each setting once, so that what drifts meanwhile
/// touches all settings alike. Rounds are shuffled; the same seed gives the same order everywhere.
[[nodiscard]] std::vector<GridRun> order_runs(std::size_t settings, const GridOrder& order);

/// What runs of one setting came to: of each metric its values, one a run; NaN where a run had none.
using Measurements = std::map<std::string, std::vector<double>>;

/// The nearest-rank median of what is a number; NaN for nothing.
[[nodiscard]] double median_of(const Measurements& measurements, const std::string& metric);
/// Least and greatest of what is a number; NaN for nothing.
[[nodiscard]] std::pair<double, double> range_of(const Measurements& measurements, const std::string& metric);

/// What a result has to reach.
struct Criterion {
  std::string name;
  std::string metric;
  std::optional<double> at_least;
  std::optional<double> at_most;
  bool is_relative = false;  ///< it is the ratio to the baseline that is judged
};

struct Verdict {
  enum class Result { met, missed, unknown };
  Result result = Result::unknown;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< what was judged
};

/// Judges the median of a metric. Unknown where there is none, or no baseline to compare with.
[[nodiscard]] Verdict judge(const Criterion& criterion, const Measurements& measurements, const Measurements* baseline);

/// A text as part of a file's name: what could be trouble there is "_".
[[nodiscard]] std::string as_file_name(std::string_view text);

}  // namespace kymo::bench
