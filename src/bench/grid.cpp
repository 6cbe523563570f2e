#include "bench/grid.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include <kymo/latency_stats.hpp>

#include "base/text/ascii.hpp"

namespace kymo::bench {
namespace {

/// Splitmix64: produces the same numbers on all platforms.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  /// A number below `bound`. The bias of the remainder is too small to affect an order.
  std::size_t below(std::size_t bound) {
    std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return static_cast<std::size_t>((mixed ^ (mixed >> 31U)) % bound);
  }

 private:
  std::uint64_t state_;
};

std::vector<double> numbers_of(const Measurements& measurements, const std::string& metric) {
  std::vector<double> numbers;
  if (const auto found = measurements.find(metric); found != measurements.end()) {
    std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(numbers),
                 [](double value) { return !std::isnan(value); });
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<Values> combine(const std::vector<Parameter>& parameters) {
  constexpr std::size_t limit = 100'000;
  std::vector<Values> all{{}};
  for (const Parameter& parameter : parameters) {
    if (parameter.values.size() > limit / std::max<std::size_t>(all.size(), 1)) {
      throw std::length_error("the parameters have over 100,000 combinations");
    }
    std::vector<Values> more;
    for (const Values& values : all) {
      for (const std::string& value : parameter.values) {
        more.push_back(values);
        more.back().emplace_back(parameter.name, value);
      }
    }
    all = std::move(more);
  }
  return all;
}

std::string fill(std::string_view pattern, const Values& values) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char character = pattern[at];
    if (character != '{' && character != '}') {
      text += character;
      continue;
    }
    if (at + 1 < pattern.size() && pattern[at + 1] == character) {
      text += character;
      ++at;
      continue;
    }
    const std::size_t end = pattern.find('}', at);
    if (character == '}' || end == std::string_view::npos) {
      throw std::invalid_argument("a brace stands alone in \"" + std::string(pattern) +
                                  "\": write {{ or }} for a brace itself");
    }
    const std::string_view name = pattern.substr(at + 1, end - at - 1);
    const auto found =
        std::find_if(values.begin(), values.end(), [name](const auto& one) { return one.first == name; });
    if (found == values.end()) {
      std::string known;
      for (const auto& one : values) {
        known += (known.empty() ? "{" : ", {") + one.first + "}";
      }
      throw std::invalid_argument("there is no {" + std::string(name) + "} here; there is " + known);
    }
    text += found->second;
    at = end;
  }
  return text;
}

std::vector<GridRun> order_runs(std::size_t settings, const GridOrder& order) {
  std::vector<GridRun> runs;
  Generator generator(order.seed);
  const auto add_round = [&](unsigned repetition, bool is_warmup) {
    const std::size_t first = runs.size();
    for (std::size_t setting = 0; setting < settings; ++setting) {
      runs.push_back({setting, repetition, is_warmup});
    }
    for (std::size_t left = settings; order.is_shuffled && left > 1; --left) {
      std::swap(runs[first + left - 1], runs[first + generator.below(left)]);
    }
  };
  for (unsigned round = 0; round < order.warmups; ++round) {
    add_round(round, true);
  }
  for (unsigned round = 0; round < order.repetitions; ++round) {
    add_round(round, false);
  }
  return runs;
}

double median_of(const Measurements& measurements, const std::string& metric) {
  const std::vector<double> numbers = numbers_of(measurements, metric);
  return numbers.empty() ? nothing : nearest_rank(numbers, 50);
}

std::pair<double, double> range_of(const Measurements& measurements, const std::string& metric) {
  const std::vector<double> numbers = numbers_of(measurements, metric);
  return numbers.empty() ? std::pair(nothing, nothing) : std::pair(numbers.front(), numbers.back());
}

Verdict judge(const Criterion& criterion, const Measurements& measurements, const Measurements* baseline) {
  Verdict verdict;
  verdict.value = median_of(measurements, criterion.metric);
  if (criterion.is_relative) {
    verdict.value = baseline == nullptr ? nothing : verdict.value / median_of(*baseline, criterion.metric);
  }
  if (!std::isnan(verdict.value)) {
    const bool is_met = (!criterion.at_least || verdict.value >= *criterion.at_least) &&
                        (!criterion.at_most || verdict.value <= *criterion.at_most);
    verdict.result = is_met ? Verdict::Result::met : Verdict::Result::missed;
  }
  return verdict;
}

std::string as_file_name(std::string_view text) {
  std::string name;
  for (const char character : text.substr(0, 120)) {
    name += base::is_letter_digit_or("._=,+-", character) ? character : '_';
  }
  return name.empty() || name.front() == '.' || name.front() == '-' ? "_" + name : name;
}

}  // namespace kymo::bench
