#include "stats/explain/functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "stats/common/random_source.hpp"
#include "stats/common/stack_tree.hpp"
#include "stats/explain/explanation_text.hpp"
#include "stats/statistics/function_statistics.hpp"

namespace kymo::stats {

namespace {

constexpr double least_share_of_function = 0.1;
constexpr std::size_t most_functions = 3;
/// Of the excess: what goes through a caller.
constexpr double least_share_of_caller = 0.8;
/// Of the usual instances' samples: what goes through a caller that tells something.
constexpr double most_usual_share_of_caller = 0.5;
/// Of a program: `_start`, `__libc_start_main`, `main`. Without usual instances, they are what everything goes through.
constexpr std::size_t depth_of_main = 3;
/// Of the samples that the excess should have. They are lost in a row, so the others are of whole instances.
constexpr double least_share_sampled = 0.25;
/// Of a function's excess: of a line that is named.
constexpr double least_share_of_line = 0.5;
constexpr std::size_t least_for_function_interval = 3;
constexpr std::size_t function_resamples = 999;
constexpr const char* kernel_name = "[kernel]";

/// Where the C library begins a program or a thread: a line there says nothing about its caller.
bool is_start(std::string_view function) {
  constexpr std::array<std::string_view, 5> starts{"__libc_start_call_main", "__libc_start_main", "start_thread",
                                                   "clone3", "__clone3"};
  return std::find(starts.begin(), starts.end(), function) != starts.end();
}

/// Functions of one name in files of one name are one: so are those of a base and of a new build.
struct FunctionName {
  std::string name;
  std::string file;
  bool is_kernel = false;

  friend bool operator<(const FunctionName& a, const FunctionName& b) {
    return std::tie(a.name, a.file, a.is_kernel) < std::tie(b.name, b.file, b.is_kernel);
  }
};

/// Numbers the functions of stacks, with what the kernel does for one as a function of its own.
class FunctionNames {
 public:
  explicit FunctionNames(const Timeline& timeline) : tree_(timeline) {}

  [[nodiscard]] const FunctionName& name(std::uint32_t number) const { return names_[number]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

  /// The innermost function. Work of the kernel counts for the function that called it; waits are all in the kernel.
  [[nodiscard]] std::uint32_t self_of(std::uint32_t stack, bool is_wait) {
    const std::uint32_t innermost = number_of(stack);
    if (stack == 0 || !names_[innermost].is_kernel) {
      return innermost;
    }
    for (; stack != 0; stack = tree_.caller_of(stack)) {
      FunctionName caller = names_[number_of(stack)];
      if (!caller.is_kernel) {
        caller.is_kernel = !is_wait;
        return intern(std::move(caller));
      }
    }
    return intern({kernel_name, {}, true});
  }
  /// The functions of the stack but the kernel's, the innermost first.
  [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t stack) {
    std::vector<std::uint32_t> path;
    for (; stack != 0; stack = tree_.caller_of(stack)) {
      const std::uint32_t number = number_of(stack);
      if (!names_[number].is_kernel) {
        path.push_back(number);
      }
    }
    return path;
  }
  /// The innermost line of a stack that is known, of its functions from the one at `depth` of path_of() on. Line 0:
  /// none.
  [[nodiscard]] SourcePlace place_of(std::uint32_t stack, std::size_t depth) {
    std::size_t passed = 0;
    for (; stack != 0; stack = tree_.caller_of(stack)) {
      if (names_[number_of(stack)].is_kernel) {
        continue;
      }
      const FunctionId function = tree_.function_of(stack);
      if (passed++ >= depth && tree_.line_of(stack) != 0 && !is_start(tree_.name_of(function))) {
        return {tree_.name_of(function), tree_.source_of(function), tree_.line_of(stack)};
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t number_of(std::uint32_t stack) {
    const FunctionId function = tree_.function_of(stack);
    const auto [place, is_new] = of_functions_.try_emplace(function, 0);
    if (is_new) {
      const std::string path = tree_.module_of(function);
      FunctionName name{tree_.name_of(function), path.substr(path.rfind('/') + 1), false};
      name.is_kernel = name.name == kernel_name || name.file == kernel_name;
      place->second = intern(std::move(name));
    }
    return place->second;
  }
  [[nodiscard]] std::uint32_t intern(FunctionName name) {
    const auto [place, is_new] = numbers_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back(place->first);
    }
    return place->second;
  }

  StackTree tree_;
  std::unordered_map<FunctionId, std::uint32_t> of_functions_;
  std::map<FunctionName, std::uint32_t> numbers_;
  std::vector<FunctionName> names_;
};

/// Amounts in all slow and in all usual instances.
struct Sums {
  double slow = 0;
  double usual = 0;
  std::size_t depth = 0;  ///< of the function, in the deepest stack: 1 is the outermost

  void add(const Sums& other) {
    slow += other.slow;
    usual += other.usual;
  }
};

/// Orders places.
struct PlaceOrder {
  bool operator()(const SourcePlace& a, const SourcePlace& b) const {
    return std::tie(a.file, a.line, a.function) < std::tie(b.file, b.line, b.function);
  }
};

/// A function that is named, with its amount in each instance.
struct NamedFunction {
  std::uint32_t number = 0;
  bool is_caller = false;
  std::vector<double> amounts;
  std::uint64_t samples = 0;
  std::map<SourcePlace, Sums, PlaceOrder> places;
};

bool is_kernel_hidden(const Timeline& timeline) {
  const std::vector<InfoDeclaration>& infos = timeline.declarations().infos;
  return std::any_of(infos.begin(), infos.end(), [](const InfoDeclaration& info) {
    return info.key == "stacks.kernel" && info.value == "not permitted";
  });
}

class FunctionSearch {
 public:
  FunctionSearch(const FindingFacts& facts, const Cause& cause)
      : facts_(facts),
        cause_(cause),
        names_(facts.timeline),
        owners_(cause.owners.begin(), cause.owners.end()),
        are_waits_(facts.owners.owner(cause.owners.front()).kind == OwnerKind::blocked),
        hides_kernel_(!are_waits_ && is_kernel_hidden(facts.timeline)),
        samples_per_ns_(are_waits_ ? 1 : samples_hz(facts.timeline) / 1e9) {}

  [[nodiscard]] std::vector<FindingFunction> run();

 private:
  template <typename Visit>
  void visit_stacks(const Visit& visit) const {
    for (const SampledStack& stack : facts_.paths.stacks) {
      if (owners_.count(stack.owner) != 0) {
        visit(stack, facts_.looked_at.is_slow[stack.instance]);
      }
    }
  }
  void add_up();
  [[nodiscard]] double excess_of(const Sums& sums) const {
    const auto slow = static_cast<double>(facts_.looked_at.slow);
    const double usual = static_cast<double>(facts_.looked_at.instances.size()) - slow;
    return sums.slow / slow - (facts_.looked_at.has_usual() ? sums.usual / usual : 0);
  }
  /// What shares are of: the samples. Where the kernel hides its own, what they should be, if that is more.
  [[nodiscard]] double whole_of(double samples, double cause_ns) const {
    return hides_kernel_ ? std::max(samples, samples_per_ns_ * cause_ns) : samples;
  }
  [[nodiscard]] double whole() const { return whole_of(excess_of(all_), cause_.excess); }
  [[nodiscard]] std::vector<NamedFunction> choose() const;
  [[nodiscard]] std::optional<std::uint32_t> choose_caller() const;
  void add_amounts(std::vector<NamedFunction>& chosen);
  [[nodiscard]] const Sums& sums_of(const NamedFunction& function) const {
    return (function.is_caller ? total_ : self_).at(function.number);
  }
  [[nodiscard]] std::optional<SourcePlace> find_place(const NamedFunction& function) const;
  [[nodiscard]] FindingFunction describe(const NamedFunction& function) const;
  [[nodiscard]] Interval draw(const NamedFunction& function) const;

  const FindingFacts& facts_;
  const Cause& cause_;
  FunctionNames names_;
  std::unordered_set<OwnerId> owners_;
  bool are_waits_ = false;
  bool hides_kernel_ = false;
  double samples_per_ns_ = 0;  ///< of the cause's time; of waits their nanoseconds; 0: not known
  Sums all_;
  std::unordered_map<std::uint32_t, Sums> by_stack_;
  std::map<std::uint32_t, Sums> self_;
  std::map<std::uint32_t, Sums> total_;
  std::vector<double> amounts_;  // of all functions, by instance
};

void FunctionSearch::add_up() {
  amounts_.resize(facts_.looked_at.instances.size());
  visit_stacks([&](const SampledStack& stack, bool is_slow) {
    amounts_[stack.instance] += stack.amount;
    Sums& sums = by_stack_[stack.stack];
    (is_slow ? sums.slow : sums.usual) += stack.amount;
  });
  for (const auto& [stack, sums] : by_stack_) {
    all_.add(sums);
    self_[names_.self_of(stack, are_waits_)].add(sums);
    const std::vector<std::uint32_t> path = names_.path_of(stack);
    std::unordered_set<std::uint32_t> seen;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (seen.insert(path[i]).second) {  // one that calls itself counts once
        Sums& total = total_[path[i]];
        total.add(sums);
        total.depth = std::max(total.depth, path.size() - i);
      }
    }
  }
}

bool has_name(const FunctionName& name) {
  return name.name != "[unknown]";
}

std::optional<std::uint32_t> FunctionSearch::choose_caller() const {
  std::optional<std::uint32_t> innermost;
  Sums least;
  for (const auto& [number, sums] : total_) {
    if (!has_name(names_.name(number)) || excess_of(sums) < least_share_of_caller * whole()) {
      continue;
    }
    // What a function calls has no more than itself.
    const bool is_inner = sums.slow < least.slow || (sums.slow == least.slow && sums.depth > least.depth);
    if (!innermost || is_inner) {
      innermost = number;
      least = sums;
    }
  }
  const bool is_everywhere = facts_.looked_at.has_usual() ? least.usual > most_usual_share_of_caller * all_.usual
                                                          : least.depth <= depth_of_main;
  return is_everywhere ? std::nullopt : innermost;
}

std::vector<NamedFunction> FunctionSearch::choose() const {
  std::vector<std::pair<double, std::uint32_t>> shares;
  for (const auto& [number, sums] : self_) {
    const double share = excess_of(sums) / whole();
    if (has_name(names_.name(number)) && share >= least_share_of_function) {
      shares.emplace_back(share, number);
    }
  }
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  shares.resize(std::min(shares.size(), most_functions));
  std::vector<NamedFunction> chosen;
  chosen.reserve(shares.size() + 1);
  for (const auto& [share, number] : shares) {
    chosen.push_back({number, false, std::vector<double>(amounts_.size()), 0, {}});
  }
  const bool is_said = !shares.empty() && shares.front().first >= least_share_of_caller;
  const std::optional<std::uint32_t> caller = is_said ? std::nullopt : choose_caller();
  if (caller) {
    chosen.push_back({*caller, true, std::vector<double>(amounts_.size()), 0, {}});
  }
  return chosen;
}

void FunctionSearch::add_amounts(std::vector<NamedFunction>& chosen) {
  std::unordered_map<std::uint32_t, std::vector<bool>> has;
  for (const auto& [stack, sums] : by_stack_) {
    const std::uint32_t self = names_.self_of(stack, are_waits_);
    const std::vector<std::uint32_t> path = names_.path_of(stack);
    std::vector<bool>& of_stack = has[stack];
    for (NamedFunction& one : chosen) {
      const auto depth = one.is_caller ? std::find(path.begin(), path.end(), one.number) - path.begin() : 0;
      const bool is_in = one.is_caller ? depth != std::ssize(path) : one.number == self;
      of_stack.push_back(is_in);
      if (is_in) {
        one.places[names_.place_of(stack, static_cast<std::size_t>(depth))].add(sums);
      }
    }
  }
  visit_stacks([&](const SampledStack& stack, bool is_slow) {
    const std::vector<bool>& of_stack = has.at(stack.stack);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (of_stack[i]) {
        chosen[i].amounts[stack.instance] += stack.amount;
        chosen[i].samples += is_slow ? 1U : 0U;
      }
    }
  });
}

/// The share's interval when instances are drawn again.
Interval FunctionSearch::draw(const NamedFunction& function) const {
  std::array<std::vector<std::size_t>, 2> sides;
  for (std::size_t i = 0; i < amounts_.size(); ++i) {
    sides[facts_.looked_at.is_slow[i] ? 1 : 0].push_back(i);
  }
  RandomSource random(facts_.seed, 3);
  std::vector<double> shares;
  for (std::size_t round = 0; round < function_resamples; ++round) {
    double of_function = 0;
    double of_all = 0;
    double of_cause = 0;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      const double weight = (side == 1 ? 1 : -1) / static_cast<double>(sides[side].size());
      for (std::size_t i = 0; i < sides[side].size(); ++i) {
        const std::size_t drawn = sides[side][static_cast<std::size_t>(random.below(sides[side].size()))];
        of_function += weight * function.amounts[drawn];
        of_all += weight * amounts_[drawn];
        of_cause += weight * cause_.owned[drawn];
      }
    }
    const double of = whole_of(of_all, of_cause);
    shares.push_back(of > 0 ? of_function / of : 0);
  }
  std::sort(shares.begin(), shares.end());
  // Where others have less in slow instances, it may be more than the whole.
  const double most = std::max(1.0, excess_of(sums_of(function)) / whole());
  return {shares[function_resamples / 40], std::min(shares[function_resamples - 1 - function_resamples / 40], most)};
}

std::optional<SourcePlace> FunctionSearch::find_place(const NamedFunction& function) const {
  const auto most =
      std::max_element(function.places.begin(), function.places.end(),
                       [this](const auto& a, const auto& b) { return excess_of(a.second) < excess_of(b.second); });
  const double least = least_share_of_line * excess_of(sums_of(function));
  const bool is_known = most != function.places.end() && most->first.line != 0 && excess_of(most->second) >= least;
  return is_known ? std::optional(most->first) : std::nullopt;
}

FindingFunction FunctionSearch::describe(const NamedFunction& function) const {
  const FunctionName& name = names_.name(function.number);
  FindingFunction row;
  row.name = name.name;
  row.module = name.file;
  row.is_kernel = name.is_kernel;
  row.is_caller = function.is_caller;
  row.share = excess_of(sums_of(function)) / whole();
  row.samples = function.samples;
  row.place = find_place(function);
  if (facts_.looked_at.slow >= least_for_function_interval) {
    row.interval = draw(function);
  }
  if (!are_waits_) {
    // Samples that all agree are few samples all the same.
    const double samples = whole() * static_cast<double>(facts_.looked_at.slow);
    const double hits = std::clamp(row.share, 0.0, 1.0) * samples;
    const ShareInterval chance = share_interval(static_cast<std::uint64_t>(std::llround(hits)),
                                                static_cast<std::uint64_t>(std::llround(samples)));
    const Interval drawn = row.interval.value_or(Interval{chance.low, chance.high});
    row.interval = Interval{std::min(drawn.low, chance.low), std::max(drawn.high, chance.high)};
  }
  return row;
}

std::vector<FindingFunction> FunctionSearch::run() {
  add_up();
  const double excess = excess_of(all_);
  const bool is_lost = !hides_kernel_ && excess < least_share_sampled * samples_per_ns_ * cause_.excess;
  const bool has_enough = are_waits_ || excess * static_cast<double>(facts_.looked_at.slow) >= least_samples_of_excess;
  if (excess <= 0 || is_lost || !has_enough) {
    return {};
  }
  std::vector<NamedFunction> chosen = choose();
  add_amounts(chosen);
  std::vector<FindingFunction> found;
  for (const NamedFunction& function : chosen) {
    FindingFunction row = describe(function);
    if (!row.interval || row.interval->low > 0) {
      found.push_back(std::move(row));
    }
  }
  return found;
}

}  // namespace

std::vector<FindingFunction> find_functions(const FindingFacts& facts, const Cause& cause) {
  const OwnerKind kind = facts.owners.owner(cause.owners.front()).kind;
  if (facts.paths.stacks.empty() || (kind != OwnerKind::computing && kind != OwnerKind::blocked)) {
    return {};
  }
  return FunctionSearch(facts, cause).run();
}

std::string describe_functions(const std::vector<FindingFunction>& functions) {
  std::string text;
  for (const FindingFunction& function : functions) {
    text += (text.empty() ? "; of it " : ", ") + function_text(function);
  }
  return text;
}

}  // namespace kymo::stats
