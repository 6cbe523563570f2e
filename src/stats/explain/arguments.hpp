// Arguments of scopes that go with a cause.
#pragma once

#include <string>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// The arguments of the cause's scopes whose values differ between slow and usual instances by more than chance, in
/// words, at most two: numbers by their mean in an instance, texts and truth values by the share of calls that have
/// them. One permutation test covers all that are tried: at most `most_argument_columns`, numbers first, then the texts
/// that vary most. Empty if there are none.
[[nodiscard]] std::string describe_arguments(const FindingFacts& facts, const Cause& cause);

constexpr std::size_t most_argument_columns = 64;

}  // namespace kymo::stats
