// Divides the power of some sources among concurrent work, in one sweep over time.
//
// Each sharer (a thread with open scopes, an open GPU span) has a weight and gets its part of the power at a moment. A
// consumer (a site, a span name) gets the shares of the sharers in which it is open. Memory: a cell per consumer and
// source. Time: a few steps per change and source, and at the end of each piece of a power curve a few per open
// consumer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stats/common/power_curve.hpp"

namespace kymo::stats {

using ConsumerId = std::uint32_t;

/// What one or several sharers weigh: as much as their number times a full weight, or less if they only run now and
/// then. In truth, the mean over a piece of a power curve may be anything from `least` to `most`, and anyone may have
/// run while others did or did not; the bound of the energy covers that.
struct Weight {
  std::int32_t likely = 1;
  std::int32_t least = 1;
  std::int32_t most = 1;

  [[nodiscard]] Weight operator-() const { return {-likely, -least, -most}; }
  [[nodiscard]] Weight operator-(const Weight& other) const {
    return {likely - other.likely, least - other.least, most - other.most};
  }
  [[nodiscard]] Weight operator*(std::int32_t times) const { return {likely * times, least * times, most * times}; }
  Weight& operator+=(const Weight& other) {
    likely += other.likely;
    least += other.least;
    most += other.most;
    return *this;
  }
};

class EnergySharing {
 public:
  /// The curves must outlive this object; without any, all energy is unknown. `full` is the weight of a sharer that
  /// runs all the time.
  explicit EnergySharing(const std::vector<const PowerCurve*>& curves, std::int32_t full = 1);

  /// Advances to a time. Earlier times count as the current one.
  void advance(std::int64_t time_ns);
  /// Changes the weight of all sharers from the current time on, and their number.
  void change_sharers(const Weight& by, std::int32_t opened);
  /// Changes the weight of the sharers in which a consumer is open, and their number.
  void change(ConsumerId consumer, const Weight& by, std::int32_t opened);
  /// Closes everything. Afterwards the results are complete.
  void finish();

  /// The consumer's energy from all sources together.
  [[nodiscard]] Energy energy_of(ConsumerId consumer) const;
  /// The consumer's shares integrated over time, in seconds.
  [[nodiscard]] double share_s(ConsumerId consumer) const;

 private:
  /// Some sharers at the current time.
  struct Standing {
    Weight weight{0, 0, 0};
    std::int32_t open = 0;  // their number
  };

  /// The least and the greatest of a number so far.
  struct Span {
    std::int32_t low = 0;
    std::int32_t high = 0;

    void take(const Span& other);
  };
  struct Bounds {
    Span least;  // Weight::least
    Span most;   // Weight::most
    Span open;

    Bounds() = default;
    explicit Bounds(const Standing& standing)
        : least{standing.weight.least, standing.weight.least},
          most{standing.weight.most, standing.weight.most},
          open{standing.open, standing.open} {}
    void take(const Bounds& other);
  };

  /// Extremes within a piece, and those since the next piece may have begun.
  struct Extremes {
    Bounds here;
    Bounds next;
    bool has_next = false;

    void start(const Standing& standing) { *this = {Bounds(standing), Bounds(), false}; }
    void take(const Standing& standing, bool may_be_next);
    /// Starts the next piece from the current standing.
    void go_on(const Standing& standing);
  };

  /// One consumer's sums for one source.
  struct Cell {
    Extremes extremes;
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
    double shared_joules = 0;    // the energy of a weight of one so far
    double unknown_s = 0;        // the time without a reading so far
    double current_joules = 0;   // of the current piece, until now
    Extremes sharers;
    std::vector<Cell> cells;
    std::vector<ConsumerId> active;  // consumers that were open in the current piece
  };

  [[nodiscard]] static const PowerCurve::Piece* current(const Source& source);
  [[nodiscard]] bool may_be_next(const Source& source) const;
  void note_sharers();
  static void settle(const Source& source, Cell& cell, const Standing& standing);
  [[nodiscard]] double part_of(const Bounds& some, double others) const;
  [[nodiscard]] double least_share(const Bounds& own, const Bounds& all) const;
  [[nodiscard]] double greatest_share(const Bounds& own, const Bounds& all) const;
  void go_to(Source& source, std::int64_t time_ns);
  void end_piece(Source& source);
  void settle_share(ConsumerId consumer);

  std::vector<Source> sources_;
  std::vector<Standing> standings_;
  std::vector<double> shares_s_;
  std::vector<double> share_marks_s_;
  double share_clock_s_ = 0;  // the time of a weight of one so far
  Standing sharers_;
  std::int32_t full_;
  std::int64_t now_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace kymo::stats
