// How an explanation is said, wherever it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/explain.hpp>
#include <kymo/export.hpp>

namespace kymo::stats {

/// "100 %".
[[nodiscard]] KYMO_API std::string share_of_excess_text(double share);
/// "[71..84 %]"; empty without an interval.
[[nodiscard]] KYMO_API std::string share_interval_text(const std::optional<Interval>& interval);
/// "hash.cpp:31": the line of a function that is named; "from list.cpp:12" where it is a caller's. Empty without one.
[[nodiscard]] KYMO_API std::string source_place_text(const FindingFunction& function);
/// "80 % [71..88 %] in malloc (libc.so.6)".
[[nodiscard]] std::string function_text(const FindingFunction& function);
/// The text of a finding or a run's part line by line: without its functions, and each of those.
[[nodiscard]] KYMO_API std::vector<std::string> lines_of(const std::string& text,
                                                         const std::vector<FindingFunction>& functions);
/// "cpu_clock core=1 (2.1 GHz against 3.4 GHz)". Names as recorded, unescaped.
[[nodiscard]] KYMO_API std::string companion_values_text(const MetricDeclaration& metric, const Companion& companion);
/// "goes along: cpu_clock core=1 (2.1 GHz against 3.4 GHz)". Names as recorded, unescaped.
[[nodiscard]] KYMO_API std::string companion_text(const MetricDeclaration& metric, const Companion& companion);

}  // namespace kymo::stats
