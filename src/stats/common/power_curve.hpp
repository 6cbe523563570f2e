// The power of one source over time, from its metric's samples, and the energy between any two times.
//
// An energy counter gives pieces of constant power, from one renewal of the source to the next. A power gauge gives
// trapezoids between fresh samples; a counter beside it makes longer times exact. Each piece keeps its uncertainty: the
// least and the most energy it can have had, and how much earlier than its start it may have begun, since a renewal is
// seen only when the source is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/timeline.hpp>

#include "base/power/power_choice.hpp"
#include "capture/merge/id_translation.hpp"

namespace kymo::stats {

using kymo::Energy;
using kymo::EnergyMethod;

/// Seconds from one time to another; 0 if negative. Times of damaged captures may be any distance apart.
[[nodiscard]] inline double seconds_between(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns <= start_ns
             ? 0
             : static_cast<double>(static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns)) / 1e9;
}

/// Nanoseconds from one time to another, modulo 2^64 if they are farther apart.
[[nodiscard]] inline std::int64_t nanoseconds_between(std::int64_t start_ns, std::int64_t end_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns));
}

/// Constant after construction, so thread-safe.
class PowerCurve {
 public:
  struct Piece {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t early_ns = 0;      ///< it may have begun this much earlier
    std::int64_t end_early_ns = 0;  ///< and ended this much earlier
    double start_watts = 0;
    double end_watts = 0;
    double low_joules = 0;
    double joules = 0;
    double high_joules = 0;
    bool is_known = false;  ///< otherwise the source was not readable, and all values above are 0

    /// The earliest possible start.
    [[nodiscard]] std::int64_t earliest_ns() const { return capture::add_times(start_ns, -early_ns); }
    /// The energy from its start to `time_ns`, which lies within.
    [[nodiscard]] double joules_until(std::int64_t time_ns) const {
      const double whole_s = seconds_between(start_ns, end_ns);
      if (!is_known || time_ns <= start_ns || whole_s <= 0) {
        return 0;
      }
      if (time_ns >= end_ns) {
        return joules;
      }
      const double part_s = seconds_between(start_ns, time_ns);
      return part_s * (start_watts + (end_watts - start_watts) * part_s / whole_s / 2);
    }
  };

  PowerCurve() = default;
  /// Builds the curve from a metric's samples. Stale samples are skipped. Non-finite values, and intervals of more than
  /// five periods without a sample, are gaps. A counter that goes back starts again. Several series come from several
  /// processes that sampled the source one after the other.
  PowerCurve(EnergyMethod method, const MetricDeclaration& metric, const std::vector<MetricSeries>& series);

  /// Adds a counter of the same device that is read more rarely: between() takes from it what lies between its readings
  /// where this narrows the bound. What is read of it is taken to be as fresh as the power.
  void add_counter(PowerCurve counter) { counter_ = std::make_shared<const PowerCurve>(std::move(counter)); }

  /// The energy in [start_ns, end_ns). A binary search over the pieces.
  [[nodiscard]] Energy between(std::int64_t start_ns, std::int64_t end_ns) const;

  /// By ascending time, without gaps between pieces.
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] EnergyMethod method() const { return method_; }
  /// Scopes shorter than this cannot be resolved: the source's renewal, or the period of its fresh samples if that is
  /// longer; 0: unknown.
  [[nodiscard]] std::int64_t renewal_ns() const { return renewal_ns_; }
  [[nodiscard]] std::size_t gap_count() const { return gap_count_; }
  /// Whether the source ever showed any.
  [[nodiscard]] bool has_energy() const { return joules_before_.back() > 0; }
  [[nodiscard]] double known_s() const { return known_s_; }

 private:
  struct Fresh {
    std::int64_t time_ns = 0;
    std::int64_t early_ns = 0;
    double value = 0;
    bool is_after_gap = false;
  };

  [[nodiscard]] std::vector<Fresh> fresh_samples(const MetricDeclaration& metric, const MetricSeries& series) const;
  void add_series(const MetricDeclaration& metric, const std::vector<Fresh>& fresh);
  void add_piece(const Piece& piece);
  void add_gap(std::int64_t start_ns, std::int64_t end_ns);
  [[nodiscard]] std::size_t piece_at(std::int64_t time_ns) const;
  [[nodiscard]] Energy by_pieces(std::int64_t start_ns, std::int64_t end_ns) const;
  [[nodiscard]] Energy by_counter(std::int64_t start_ns, std::int64_t end_ns) const;

  EnergyMethod method_ = EnergyMethod::counter;
  std::shared_ptr<const PowerCurve> counter_;  // null: none
  std::vector<Piece> pieces_;
  // Sums over the pieces before each, and over all.
  std::vector<double> joules_before_{0};
  std::vector<double> low_before_{0};
  std::vector<double> high_before_{0};
  std::vector<double> unknown_s_before_{0};
  std::int64_t renewal_ns_ = 0;
  std::size_t gap_count_ = 0;
  double known_s_ = 0;
};

}  // namespace kymo::stats
