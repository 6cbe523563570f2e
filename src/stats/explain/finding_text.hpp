// Findings in words.
#pragma once

#include <cstddef>
#include <string>

#include <kymo/explain.hpp>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// "stream level" (game.cpp:72), with the quotation marks.
[[nodiscard]] std::string quoted(const Subject& subject);

/// Describes a cause: its kind, waits, parts, functions and excess, and its text, which says what it did, where, and
/// which numbers of calls or arguments go with it. Where no instance is usual, nothing is compared.
[[nodiscard]] Finding describe_finding(const FindingFacts& facts, const Cause& cause);

}  // namespace kymo::stats
