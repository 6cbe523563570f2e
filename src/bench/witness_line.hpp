// Writes and parses the lines of a witness bundle.
#pragma once

#include <string>
#include <string_view>

#include <kymo/witness.hpp>

namespace kymo::bench {

/// Lines of a file without line break and without their closing hash. Throw std::invalid_argument like WitnessWriter.
[[nodiscard]] std::string header_line(const WitnessHeader& header);
[[nodiscard]] std::string entry_line(const WitnessEntry& entry, std::string_view previous);
[[nodiscard]] std::string footer_line(const WitnessTotals& totals, std::string_view head);

/// Counts an entry. `cut_cost`: the sum of all.
void count(const WitnessEntry& entry, double& cut_cost, WitnessTotals& totals);

/// Closes a line with the hash of its bytes and returns the hash.
std::string close_line(std::string& line);
/// Removes the hash from a closed line. Returns it, or an empty text if the line does not end with a correct hash.
[[nodiscard]] std::string open_line(std::string_view& line);

/// Parse an opened line. Return false if it is of another kind.
[[nodiscard]] bool parse_header(std::string_view line, WitnessHeader& header);
[[nodiscard]] bool parse_entry(std::string_view line, WitnessEntry& entry, std::string& previous);
[[nodiscard]] bool is_footer(std::string_view line);

}  // namespace kymo::bench
