// Findings in words.
#pragma once

#include <cstddef>
#include <string>

#include <kymo/explain.hpp>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// "stream level" (game.cpp:72), with the quotation marks.
[[nodiscard]] std::string quoted(const Subject& subject);

/// At most so many bytes of a text, whole characters, and "..." after them.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t most);

/// Says what the cause of a finding did, where, and which numbers of calls or arguments go with it. Needs the finding's
/// kind, waits and parts. `pusher`: who had the CPU meanwhile; empty: not known.
[[nodiscard]] std::string describe_cause(const FindingFacts& facts, const Cause& cause, const Finding& finding,
                                         const std::string& pusher);

/// Who ran on the CPU while slow instances could have, for a cause that is pushed off or late to go on: the observed
/// thread that did so most of the time, or words for threads that were not observed. Empty if that is not known.
[[nodiscard]] std::string find_pusher(const FindingFacts& facts, const Cause& cause);

/// Whether a scope's very first run, in the whole timeline, is in a slow instance that accounts for most of the cause.
[[nodiscard]] bool is_first_time(const FindingFacts& facts, const Cause& cause);

}  // namespace kymo::stats
