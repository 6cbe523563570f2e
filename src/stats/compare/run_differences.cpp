#include "stats/compare/run_differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "stats/common/moderated_variance.hpp"
#include "stats/common/random_source.hpp"
#include "stats/common/sample_tests.hpp"

namespace kymo::stats {

namespace {

/// A normal quantile as unlikely as t with these degrees of freedom, so that statistics of different groups compare.
/// D. L. Wallace, "Bounds on normal approximations to Student's and the chi-square distributions", 1959.
double normal_of(double t, double degrees) {
  if (!std::isfinite(degrees) || !std::isfinite(t)) {
    return t;
  }
  return (8 * degrees + 1) / (8 * degrees + 3) * std::sqrt(degrees * std::log1p(t * t / degrees));
}

/// Levels of the same quantile and scale in the same runs.
class Group {
 public:
  Group(std::vector<std::size_t> runs, std::size_t base_runs, bool is_log)
      : runs_(std::move(runs)), base_runs_(base_runs), is_log_(is_log) {}

  void add(std::size_t place, const RunLevels& levels);
  /// Fits the variances and tests each level.
  void test();
  /// The greatest statistic after a rotation that turns the direction of the difference into this one.
  double rotate(const std::vector<double>& normals);
  /// Writes the results to their places.
  void report(std::vector<RunDifference>& differences) const;
  /// See RunDifference::more_runs. `single_level`: of one test alone.
  void advise(double single_level, double level, std::vector<RunDifference>& differences) const;

  struct Member {
    std::size_t place = 0;
    double base = 0;  // mean level
    double changed = 0;
    double contrast = 0;  // difference divided by its standard deviation at a variance of 1
    double total = 0;     // sum of squares around the mean of all runs
    double floor = 0;     // least moderated variance, from the step and from the errors within runs
    double variance = 0;  // moderated
    double p_value = 1;
    double statistic = 0;
  };
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

 private:
  [[nodiscard]] double degrees() const { return static_cast<double>(runs_.size()) - 2; }
  [[nodiscard]] double scale_of(double base_runs, double new_runs) const {
    return std::sqrt(1 / base_runs + 1 / new_runs);
  }
  [[nodiscard]] double scale() const {
    return scale_of(static_cast<double>(base_runs_), static_cast<double>(runs_.size() - base_runs_));
  }
  [[nodiscard]] double variance_of(const Member& member, double contrast) const {
    return std::max(member.total - contrast * contrast, 0.0) / degrees();
  }
  [[nodiscard]] double moderate(const VariancePrior& prior, const Member& member, double variance) const {
    return std::max(prior.moderate(variance, degrees()), member.floor);
  }
  VariancePrior fit();
  /// Levels less their means in each side.
  [[nodiscard]] std::vector<double> residuals_of(std::size_t member) const;
  double weigh_sides();
  [[nodiscard]] double count_independent() const;
  [[nodiscard]] double t_of(double contrast, double variance) const;

  std::vector<std::size_t> runs_;  // numbers, those of the base first
  std::size_t base_runs_;
  bool is_log_;
  std::vector<Member> members_;
  std::vector<double> centered_;   // a row a member: levels in each run, less their mean
  std::vector<double> contrasts_;  // of a rotation
  std::vector<double> variances_;
  std::vector<double> scratch_;
  VariancePrior prior_;
  double independent_ = 1;
  double degrees_ = 1;  // of the moderated variance
};

void Group::add(std::size_t place, const RunLevels& levels) {
  const std::size_t first_new = levels.base.size();
  std::vector<double> values;
  double error_of_difference = 0;  // squared
  const auto scaled = [this](double value) { return is_log_ ? std::log(value) : value; };
  for (const std::size_t run : runs_) {
    const RunLevel& level = run < first_new ? *levels.base[run] : *levels.changed[run - first_new];
    values.push_back(scaled(level.value));
    const double low = is_log_ && !(level.low > 0) ? level.value : level.low;
    const double error = (scaled(level.high) - scaled(low)) / 2;
    const auto of_side = static_cast<double>(run < first_new ? base_runs_ : runs_.size() - base_runs_);
    error_of_difference += error * error / (of_side * of_side);
  }
  Member member;
  member.place = place;
  double mean = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_new = i >= base_runs_;
    (is_new ? member.changed : member.base) +=
        values[i] / static_cast<double>(is_new ? values.size() - base_runs_ : base_runs_);
    mean += values[i] / static_cast<double>(values.size());
  }
  // Rounding of the mean must not look like noise.
  const bool varies = std::any_of(values.begin(), values.end(), [&](double value) { return value != values[0]; });
  for (double& value : values) {
    value = varies ? value - mean : 0;
    member.total += value * value;
  }
  member.contrast = varies ? (member.changed - member.base) / scale() : 0;
  const double step = is_log_ ? levels.step / std::exp(mean) : levels.step;
  // The former is the variance of what rounding takes.
  member.floor = std::max(step * step / 12, error_of_difference / (scale() * scale()));
  centered_.insert(centered_.end(), values.begin(), values.end());
  members_.push_back(member);
}

double Group::t_of(double contrast, double variance) const {
  if (variance > 0) {
    return std::fabs(contrast) / std::sqrt(variance);
  }
  return contrast == 0 ? 0 : std::numeric_limits<double>::infinity();
}

/// Of variances_. Levels on a linear scale have different units and share nothing.
VariancePrior Group::fit() {
  if (!is_log_) {
    return {};
  }
  scratch_ = variances_;
  return fit_prior(scratch_, degrees());
}

std::vector<double> Group::residuals_of(std::size_t member) const {
  std::vector<double> residuals(runs_.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const bool is_new = i >= base_runs_;
    const auto of_side = static_cast<double>(is_new ? runs_.size() - base_runs_ : base_runs_);
    residuals[i] =
        centered_[member * runs_.size() + i] - (is_new ? 1 : -1) * members_[member].contrast / (of_side * scale());
  }
  return residuals;
}

/// With as many runs on both sides, it makes no difference which side varies more. Otherwise the side with fewer runs
/// may, and all variances are too small by one factor. This is that factor, at least 1; lowers the degrees of freedom
/// to those of Welch's test.
double Group::weigh_sides() {
  const auto base = static_cast<double>(base_runs_);
  const auto changed = static_cast<double>(runs_.size() - base_runs_);
  if (base == changed) {
    return 1;
  }
  double of_base = 0;  // sums of variances of each side, as shares of the variances of both
  double of_new = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const double variance = prior_.moderate(variances_[m], degrees());
    if (!(variance > 0)) {
      continue;
    }
    const std::vector<double> residuals = residuals_of(m);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      (i < base_runs_ ? of_base : of_new) += residuals[i] * residuals[i] / variance;
    }
  }
  of_base /= base - 1;
  of_new /= changed - 1;
  const double together = ((base - 1) * of_base + (changed - 1) * of_new) / degrees() * scale() * scale();
  const double apart = of_base / base + of_new / changed;
  if (!(apart > together)) {
    return 1;
  }
  const auto squared = [](double x) { return x * x; };
  const double welch =
      squared(apart) / (squared(of_base / base) / (base - 1) + squared(of_new / changed) / (changed - 1));
  degrees_ = std::min(degrees_, std::max(independent_, 1.0) * welch);
  return apart / together;
}

/// How many independent variances the members' variances are worth. Chance adds to the squared correlations, so this is
/// rather too few.
double Group::count_independent() const {
  const std::size_t runs = runs_.size();
  std::vector<double> products(runs * runs);
  double count = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const std::vector<double> residuals = residuals_of(m);
    const double sum = std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
    if (!(sum > 0)) {
      continue;
    }
    ++count;
    for (std::size_t i = 0; i < runs; ++i) {
      for (std::size_t j = 0; j < runs; ++j) {
        products[i * runs + j] += residuals[i] * residuals[j] / sum;
      }
    }
  }
  if (count == 0) {
    return 1;
  }
  double squares = 0;  // the sum of the squared correlations, whichever way the products are multiplied
  for (const double product : products) {
    squares += product * product;
  }
  return count * count / squares;
}

void Group::test() {
  variances_.resize(members_.size());
  contrasts_.resize(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    variances_[i] = variance_of(members_[i], members_[i].contrast);
  }
  prior_ = fit();
  independent_ = is_log_ ? count_independent() : 1;
  degrees_ = std::min(prior_.degrees + degrees(), std::max(independent_, 1.0) * degrees());
  const double factor = weigh_sides();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    member.variance = factor * moderate(prior_, member, variances_[i]);
    const double t = t_of(member.contrast, member.variance);
    member.p_value = std::isinf(t) ? 0 : student_p_value(t, degrees_);
    member.statistic = normal_of(t, factor > 1 ? degrees_ : prior_.degrees + degrees());
  }
}

double Group::rotate(const std::vector<double>& normals) {
  const std::size_t runs = runs_.size();
  std::vector<double> direction(runs);
  double mean = 0;
  for (std::size_t i = 0; i < runs; ++i) {
    direction[i] = normals[runs_[i]];
    mean += direction[i] / static_cast<double>(runs);
  }
  double length = 0;
  for (double& coordinate : direction) {
    coordinate -= mean;
    length += coordinate * coordinate;
  }
  length = std::sqrt(length);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    double contrast = 0;
    for (std::size_t i = 0; i < runs; ++i) {
      contrast += direction[i] * centered_[m * runs + i];
    }
    contrasts_[m] = contrast / length;
    variances_[m] = variance_of(members_[m], contrasts_[m]);
  }
  const VariancePrior prior = fit();
  double greatest = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    greatest = std::max(greatest, t_of(contrasts_[m], moderate(prior, members_[m], variances_[m])));
  }
  return normal_of(greatest, prior.degrees + degrees());
}

void Group::report(std::vector<RunDifference>& differences) const {
  const double quantile = student_quantile(0.05, degrees_) * scale();
  for (const Member& member : members_) {
    RunDifference& result = differences[member.place];
    const double middle = member.contrast * scale();
    const double reach = quantile * std::sqrt(member.variance);
    const Interval interval{middle - reach, middle + reach};
    result.p_value = member.p_value;
    if (is_log_) {
      result.base = std::exp(member.base);
      result.changed = result.base * std::exp(middle);
      result.share = {std::expm1(interval.low), std::expm1(interval.high)};
      result.difference = {result.base * result.share.low, result.base * result.share.high};
    } else {
      result.base = member.base;
      result.changed = member.changed;
      result.difference = interval;
      const auto share = [&](double difference) { return difference == 0 ? 0 : share_of(difference, member.base); };
      result.share = {share(interval.low), share(interval.high)};
    }
  }
}

void Group::advise(double single_level, double level, std::vector<RunDifference>& differences) const {
  constexpr double found_in_four_of_five = 0.8416;  // quantile of the normal distribution
  const std::size_t fewer = std::min(base_runs_, runs_.size() - base_runs_);
  std::vector<double> needed;  // t, by number of more runs from 1
  for (const Member& member : members_) {
    RunDifference& result = differences[member.place];
    if (result.adjusted_p_value <= level || !(member.variance > 0)) {
      continue;
    }
    for (std::size_t more = 1; more <= most_runs_advised; ++more) {
      const double a_side = static_cast<double>(fewer + more);
      if (needed.size() < more) {
        const double own = 2 * a_side - 2;
        const double all = std::min(prior_.degrees + own, std::max(independent_, 1.0) * own);
        needed.push_back(student_quantile(single_level, all) + found_in_four_of_five);
      }
      const double difference = std::fabs(member.contrast) * scale();
      if (difference >= needed[more - 1] * scale_of(a_side, a_side) * std::sqrt(member.variance)) {
        result.more_runs = more;
        break;
      }
    }
  }
}

/// Groups by quantile, scale and runs.
std::vector<Group> group(const std::vector<RunLevels>& family) {
  std::map<std::tuple<unsigned, bool, std::vector<std::size_t>>, std::vector<std::size_t>> places;
  for (std::size_t place = 0; place < family.size(); ++place) {
    const RunLevels& levels = family[place];
    std::vector<std::size_t> runs;
    bool is_log = true;
    const auto look = [&](const std::vector<std::optional<RunLevel>>& side, std::size_t first) {
      for (std::size_t run = 0; run < side.size(); ++run) {
        if (side[run]) {
          runs.push_back(first + run);
          is_log = is_log && side[run]->value > 0;
        }
      }
    };
    look(levels.base, 0);
    look(levels.changed, levels.base.size());
    places[{levels.percent, is_log, std::move(runs)}].push_back(place);
  }
  std::vector<Group> groups;
  for (const auto& [key, members] : places) {
    const auto& [percent, is_log, runs] = key;
    const std::size_t first_new = family[members[0]].base.size();
    const auto base_runs = std::lower_bound(runs.begin(), runs.end(), first_new) - runs.begin();
    Group& added = groups.emplace_back(runs, static_cast<std::size_t>(base_runs), is_log);
    for (const std::size_t place : members) {
      added.add(place, family[place]);
    }
  }
  return groups;
}

/// The greatest statistic of each rotation, ascending.
std::vector<double> rotate(std::vector<Group>& groups, std::size_t runs, const RunTestOptions& options) {
  RandomSource random(options.seed, runs);
  std::vector<double> greatest(options.rotations, 0.0);
  std::vector<double> normals(runs);
  for (double& statistic : greatest) {
    for (double& normal : normals) {
      normal = random.normal();
    }
    for (Group& group : groups) {
      statistic = std::max(statistic, group.rotate(normals));
    }
  }
  std::sort(greatest.begin(), greatest.end());
  return greatest;
}

}  // namespace

std::vector<RunDifference> test_runs(const std::vector<RunLevels>& family, const RunTestOptions& options) {
  std::vector<RunDifference> differences(family.size());
  if (family.empty()) {
    return differences;
  }
  std::vector<Group> groups = group(family);
  for (Group& one : groups) {
    one.test();
    one.report(differences);
  }
  const std::vector<double> greatest = rotate(groups, family[0].base.size() + family[0].changed.size(), options);
  const auto share_reaching = [&](double statistic) {
    // Rounding must not hide a rotation that gives the same.
    const auto first = std::lower_bound(greatest.begin(), greatest.end(), statistic * (1 - 1e-9));
    return static_cast<double>(greatest.end() - first + 1) / static_cast<double>(greatest.size() + 1);
  };
  for (const Group& one : groups) {
    for (const Group::Member& member : one.members()) {
      RunDifference& result = differences[member.place];
      result.adjusted_p_value = std::max(share_reaching(member.statistic), result.p_value);
    }
  }
  // What one test alone would have to reach: the level at the statistic that is exceeded as often as the level says.
  const auto place = static_cast<std::size_t>((1 - options.level) * static_cast<double>(greatest.size()));
  const double reached = greatest[std::min(place, greatest.size() - 1)];
  const double single_level =
      std::max(std::erfc(reached / std::sqrt(2.0)), options.level / static_cast<double>(family.size()));
  for (const Group& one : groups) {
    one.advise(single_level, options.level, differences);
  }
  return differences;
}

}  // namespace kymo::stats
