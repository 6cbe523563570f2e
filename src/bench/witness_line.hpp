// The lines of a witness bundle: made, and taken apart again.
#pragma once

#include <string>
#include <string_view>

#include <kymo/witness.hpp>

namespace kymo::bench {

/// Lines as they stand in a file, without line end and without the hash that closes them. std::invalid_argument as
/// WitnessWriter.
[[nodiscard]] std::string header_line(const WitnessHeader& header);
[[nodiscard]] std::string entry_line(const WitnessEntry& entry, std::string_view previous);
[[nodiscard]] std::string footer_line(const WitnessTotals& totals, std::string_view head);

/// Closes a line with the hash of its bytes, which it returns.
std::string close_line(std::string& line);
/// Takes the hash off a closed line; empty where the line does not end with one that is right.
[[nodiscard]] std::string open_line(std::string_view& line);

/// Read an opened line. False where it is not such a line.
[[nodiscard]] bool parse_header(std::string_view line, WitnessHeader& header);
[[nodiscard]] bool parse_entry(std::string_view line, WitnessEntry& entry, std::string& previous);
[[nodiscard]] bool is_footer(std::string_view line);

}  // namespace kymo::bench
