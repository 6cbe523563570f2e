// Divides the power of some sources among concurrent work, in one sweep over time.
//
// Each sharer (a thread with open scopes, an open GPU span) has an equal share of the power at a moment; a thread may
// count as several sharers, by its load. A consumer (a site, a span name) gets the shares of the sharers in which it is
// open. Memory: a cell per consumer and source. Time: a few steps per change and source, and at the end of each piece
// of a power curve a few per open consumer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stats/common/power_curve.hpp"

namespace kymo::stats {

using ConsumerId = std::uint32_t;

class EnergySharing {
 public:
  /// The curves must outlive this object.
  explicit EnergySharing(const std::vector<const PowerCurve*>& curves);

  /// Advances to a time. Earlier times count as the current one.
  void advance(std::int64_t time_ns);
  /// Changes the number of sharers from the current time on.
  void change_sharers(std::int32_t by) {
    note_sharers();
    sharers_ = static_cast<std::uint32_t>(static_cast<std::int64_t>(sharers_) + by);
    note_sharers();
  }
  /// Changes the number of sharers in which a consumer is open.
  void change(ConsumerId consumer, std::int32_t by);
  /// Closes everything. Afterwards the results are complete.
  void finish();

  /// The consumer's energy from all sources together.
  [[nodiscard]] Energy energy_of(ConsumerId consumer) const;
  /// The consumer's shares integrated over time, in seconds.
  [[nodiscard]] double share_s(ConsumerId consumer) const;

 private:
  /// Extremes of a number within a piece, and those since the next piece may have begun.
  struct Extremes {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
    std::uint32_t next_least = 0;
    std::uint32_t next_most = 0;
    bool has_next = false;

    void start(std::uint32_t value) { *this = {value, value, 0, 0, false}; }
    void take(std::uint32_t value, bool may_be_next);
    /// Starts the next piece; `value` is the current number.
    void go_on(std::uint32_t value);
  };

  /// One consumer's sums for one source.
  struct Cell {
    Extremes count;
    bool is_active = false;
    double joules_mark = 0;   // the source's shared_joules when the cell was last settled
    double unknown_mark = 0;  // the same for unknown_s
    double piece_joules = 0;
    double joules = 0;
    double low = 0;
    double high = 0;
    double unknown_s = 0;
  };

  struct Source {
    const PowerCurve* curve = nullptr;
    std::size_t next_piece = 0;  // the piece that begins next; the one before it is the current one
    double shared_joules = 0;    // the energy of one share so far
    double unknown_s = 0;        // the time without a reading so far
    double current_joules = 0;   // of the current piece, until now
    Extremes sharers;
    std::vector<Cell> cells;
    std::vector<ConsumerId> active;  // consumers with a nonzero count in the current piece
  };

  [[nodiscard]] static const PowerCurve::Piece* current(const Source& source);
  [[nodiscard]] bool may_be_next(const Source& source) const;
  void note_sharers();
  void settle(const Source& source, Cell& cell, std::uint32_t count) const;
  void go_to(Source& source, std::int64_t time_ns);
  void end_piece(Source& source);
  void settle_share(ConsumerId consumer);

  std::vector<Source> sources_;
  std::vector<std::uint32_t> counts_;
  std::vector<double> shares_s_;
  std::vector<double> share_marks_s_;
  double share_clock_s_ = 0;  // the time of one share so far
  std::uint32_t sharers_ = 0;
  std::int64_t now_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace kymo::stats
