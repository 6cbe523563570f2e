// How much of each interval a track spent in scopes, by depth, and in which scopes: the data of overviews.
//
// Time is divided into bins of 2^shift ns with edges at multiples of that. So the bins of all tracks, and of summaries
// with the same shift, line up, and two bins fold into one of the next shift exactly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/events.hpp>

#include "base/site_or_name.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "capture/summary/site_vote.hpp"

namespace kymo::capture {

class ByteBuffer;
class ByteCursor;

/// One bin of one row.
struct CoverageBin {
  std::uint64_t covered_ns = 0;
  /// On the site (or span name) that covers most of it. CoverageCursor lets the scopes of a thread vote by sampling.
  SiteVote vote;

  /// Adds time of one site, or of spans of one name.
  void add(std::uint32_t site_or_name, std::uint64_t duration_ns) {
    covered_ns += duration_ns;
    vote.add(site_or_name, duration_ns);
  }
  /// Adds another bin's content.
  void merge(const CoverageBin& other) {
    covered_ns += other.covered_ns;
    vote.add(other.vote);
  }
};

/// The bins of one depth of one track.
struct CoverageRow {
  TrackId track;
  std::uint16_t depth = 0;
  bool named = false;          ///< row of complete spans from the program: depth 0
  std::int64_t first_bin = 0;  ///< the first of `bins`: it starts at first_bin << shift
  std::vector<CoverageBin> bins;

  /// What covers most of a bin of the row.
  [[nodiscard]] base::SiteOrName what(const CoverageBin& bin) const {
    return base::site_or_name(named, bin.vote.leader());
  }
};

/// The rows of all tracks over one interval: up to 128 bins and 4096 rows. Not thread-safe.
class Coverage {
 public:
  static constexpr unsigned least_shift = 10;  ///< bins of about a microsecond
  static constexpr unsigned most_bins = 128;
  static constexpr unsigned most_depths = 16;  ///< deeper scopes are not covered
  static constexpr unsigned most_rows = 4096;

  /// Bins of 2^shift ns, at least 2^least_shift.
  explicit Coverage(unsigned shift = least_shift) : shift_(shift < least_shift ? least_shift : shift) {}

  /// Adds an interval to the bins that it covers. Bins widen as the intervals reach further.
  void add(TrackId track, std::uint16_t depth, base::SiteOrName what, std::int64_t start_ns, std::int64_t end_ns);
  /// Adds a bin counted elsewhere; `time_ns` is any time within it.
  void add(TrackId track, std::uint16_t depth, bool named, std::int64_t time_ns, const CoverageBin& bin);
  void merge(const Coverage& other);
  /// Adds a thread's run states, as Summary::states has them.
  void add(const StateRun& run);

  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] std::int64_t bin_ns() const { return std::int64_t{1} << shift_; }
  [[nodiscard]] const std::vector<CoverageRow>& rows() const { return rows_; }
  /// Rows that exceeded most_rows; a reader that needs them reads the events.
  [[nodiscard]] std::uint64_t rows_left_out() const { return rows_left_out_; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void clear(unsigned shift);

  void append_to(ByteBuffer& out) const;
  /// Reads the bytes of append_to: covered_ns to within 1/254 of a bin, exactly if a bin is empty or full. Throws
  /// DecodeError.
  [[nodiscard]] static Coverage read_from(ByteCursor& in);

 private:
  CoverageRow* row(TrackId track, std::uint16_t depth, bool named);
  void reach(std::int64_t first_ns, std::int64_t last_ns);
  void widen();
  static CoverageBin& bin_of(CoverageRow& row, std::int64_t bin);

  unsigned shift_ = least_shift;
  std::int64_t first_bin_ = 0;  // of all rows
  std::int64_t last_bin_ = -1;
  std::vector<CoverageRow> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of_;
  std::uint64_t rows_left_out_ = 0;
};

/// Adds the scopes of one track to a Coverage while its events are read.
///
/// The time covered by a depth up to a moment is the total of its ended scopes plus the time since the open one began.
/// A bin's content is the difference between two such sums, so no work is done per scope. A bin has 64 evenly spaced
/// instants; pass() is called when the events go past one. At an instant the open scopes vote for the bin's sites, each
/// with the time between two instants. The result matches a vote of all scopes at a fraction of the cost.
class CoverageCursor {
 public:
  /// Starts at a time: earlier time is counted elsewhere or belongs to no scope.
  explicit CoverageCursor(std::int64_t from_ns = 0) : from_ns_(from_ns), bin_end_ns_(from_ns), next_stop_ns_(from_ns) {}

  /// The first event from `first` on that requires a call of pass() before it is taken; events.size(): none.
  [[nodiscard]] std::size_t next_stop(std::span<const ScopeEvent> events, std::size_t first) const;

  /// Called when the stack has taken all events before `now_ns`, and none from then on.
  void pass(Coverage& coverage, TrackId track, const ScopeStack& stack, std::int64_t now_ns);

  /// Adds everything up to a time to the coverage and continues from there.
  void flush(Coverage& coverage, TrackId track, const ScopeStack& stack, std::int64_t until_ns);

 private:
  /// The current bin of one depth.
  struct Current {
    std::uint64_t counted_ns = 0;  ///< time covered by the depth when the bin began
    SiteVote vote;                 ///< as in CoverageBin
  };

  void begin_bin(const Coverage& coverage, const ScopeStack& stack, std::int64_t now_ns, std::int64_t least_ns);
  void end_bin(Coverage& coverage, TrackId track, const ScopeStack& stack, std::int64_t end_ns);
  void vote(const ScopeStack& stack, std::int64_t until_ns);

  static constexpr unsigned votes_shift = 6;

  std::int64_t from_ns_ = 0;
  std::int64_t bin_start_ns_ = 0;
  std::int64_t bin_end_ns_ = 0;      // from_ns_ if there is no bin
  std::int64_t voted_until_ns_ = 0;  // instants up to here have voted
  std::int64_t next_stop_ns_ = 0;    // the next instant; from_ns_ if there is no bin
  unsigned instant_shift_ = 0;
  bool has_bin_ = false;
  std::array<Current, Coverage::most_depths> current_{};
};

}  // namespace kymo::capture
