// Warnings about captures that readers need before the numbers: drops, damage, data that is not in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <kymo/timeline.hpp>

#include "base/output/output_file.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::command {

/// What is damaged in captures, and what it costs.
struct DamageTotals {
  std::size_t blocks = 0;
  std::size_t event_blocks = 0;  ///< among them
  std::uint64_t bytes = 0;       ///< of damaged blocks and of bytes that are no block
  std::int64_t span_ns = 0;      ///< the time that damaged blocks of events cover
};

/// The warnings, and whether the input is damaged.
struct Warnings {
  std::vector<std::string> texts;
  bool is_damaged = false;
  DamageTotals damage;

  /// Prints each on stderr as "warning: ...".
  void print() const;
  [[nodiscard]] int exit_code() const;
};

/// What was recorded and dropped, over all tracks.
[[nodiscard]] stats::DropTotals drops_of(const std::vector<TrackTotals>& tracks);
[[nodiscard]] inline stats::DropTotals drops_of(const Timeline& timeline) {
  return drops_of(timeline.totals());
}

/// Checks for drops, lost run states and stacks, damage, recordings cut short, processes off the axis, and sampling of
/// scopes. Compares every block with its checksum: a pass over the files without decoding them.
[[nodiscard]] Warnings find_warnings(const Timeline& timeline, const stats::DropTotals& drops);

/// Checks what of the captures is not read, for commands that have no other warnings: a line for each damaged one, for
/// what could not be opened, and for empty files.
[[nodiscard]] Warnings find_unread(const Timeline& timeline);

/// Runs what reads the captures. Where they lack what it looks for, damage may be the reason: what is not read is said
/// before the failure. Not where the output cannot be written.
template <typename Read>
auto say_unread_on_failure(const Timeline& timeline, const Read& read) {
  try {
    return read();
  } catch (const std::system_error&) {
    throw;
  } catch (const base::OutputError&) {
    throw;
  } catch (const std::runtime_error&) {
    find_unread(timeline).print();
    throw;
  }
}

/// Where blocks of events are damaged: says which of the statistics' numbers count their content. `uses_summaries` if
/// the statistics are those of whole captures, taken from their summaries.
void warn_of_missing_blocks(const stats::Statistics& statistics, bool uses_summaries, Warnings& warnings);

/// Where scopes did not close themselves: their durations may be wrong, and so may those of what ran beside them.
void warn_of_forced_closes(const stats::Statistics& statistics, Warnings& warnings);

/// Prints JSON on stdout. Bytes that are not UTF-8 become U+FFFD.
void print_json(const nlohmann::ordered_json& json);

/// A metric's labels: an object, which may be empty.
[[nodiscard]] nlohmann::ordered_json labels_json(const std::vector<std::pair<std::string, std::string>>& labels);

}  // namespace kymo::command
