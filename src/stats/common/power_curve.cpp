#include "stats/common/power_curve.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/time_math.hpp"
#include "stats/common/sample_tests.hpp"

namespace kymo::stats {

namespace {

/// An interval of this many periods without a sample is a gap.
constexpr std::int64_t gap_periods = 5;

/// The longest interval without a sample that is not a gap.
std::int64_t gap_after(std::int64_t period_ns) {
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  return period_ns > longest / gap_periods ? longest : period_ns * gap_periods;
}

}  // namespace

PowerCurve::PowerCurve(EnergyMethod method, const MetricDeclaration& metric, const std::vector<MetricSeries>& series)
    : method_(method) {
  std::vector<std::vector<Fresh>> all;
  std::vector<std::int64_t> periods;
  for (const MetricSeries& one : series) {
    std::vector<Fresh> fresh = fresh_samples(metric, one);
    for (std::size_t i = 1; i < fresh.size(); ++i) {
      if (!fresh[i].is_after_gap) {
        periods.push_back(base::length_between(fresh[i - 1].time_ns, fresh[i].time_ns));
      }
    }
    if (!fresh.empty()) {
      all.push_back(std::move(fresh));
    }
  }
  renewal_ns_ = std::max(std::max<std::int64_t>(metric.renewal_ns, 0), upper_median(periods));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.front().time_ns < b.front().time_ns; });
  for (const std::vector<Fresh>& fresh : all) {
    add_series(metric, fresh);
  }
}

std::vector<PowerCurve::Fresh> PowerCurve::fresh_samples(const MetricDeclaration& metric,
                                                         const MetricSeries& series) const {
  const std::size_t count = std::min(series.times_ns.size(), series.values.size());
  const auto is_fresh = [&series](std::size_t i) {
    return std::isfinite(series.values[i]) && (i >= series.flags.size() || (series.flags[i] & SampleRun::stale) == 0);
  };
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> fresh_steps;
  std::size_t last_fresh = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) {
      steps.push_back(base::length_between(series.times_ns[i - 1], series.times_ns[i]));
    }
    if (is_fresh(i)) {
      if (last_fresh != count) {
        fresh_steps.push_back(base::length_between(series.times_ns[last_fresh], series.times_ns[i]));
      }
      last_fresh = i;
    }
  }
  const std::int64_t stated_ns = std::max<std::int64_t>(metric.renewal_ns, 0);
  const std::int64_t gap_ns = gap_after(std::max(upper_median(steps), stated_ns));
  const std::int64_t fresh_gap_ns = gap_after(std::max(upper_median(fresh_steps), stated_ns));
  const bool states_renewal = metric.renewal_ns > 0 && (metric.traits & MetricDeclaration::renewal_measured) == 0;
  // A mean power belongs to the middle of its averaging window.
  const std::int64_t lag_ns = method_ == EnergyMethod::trapezoid ? std::max<std::int64_t>(metric.window_ns, 0) / 2 : 0;
  std::vector<Fresh> fresh;
  bool is_after_gap = true;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) {
      is_after_gap = true;
      continue;
    }
    const std::int64_t step_ns = i == 0 ? 0 : base::length_between(series.times_ns[i - 1], series.times_ns[i]);
    is_after_gap = is_after_gap || step_ns > gap_ns;
    if (!is_fresh(i) || (!fresh.empty() && step_ns == 0)) {
      continue;
    }
    if (!fresh.empty()) {
      const bool went_back = method_ == EnergyMethod::counter && value < fresh.back().value;
      const bool came_late =
          method_ == EnergyMethod::trapezoid &&
          base::length_between(fresh.back().time_ns, capture::add_times(series.times_ns[i], -lag_ns)) > fresh_gap_ns;
      is_after_gap = is_after_gap || went_back || came_late;
    }
    const std::int64_t early_ns = states_renewal ? std::min(step_ns, metric.renewal_ns) : step_ns;
    fresh.push_back({capture::add_times(series.times_ns[i], -lag_ns), early_ns, value, is_after_gap});
    is_after_gap = false;
  }
  return fresh;
}

void PowerCurve::add_series(const MetricDeclaration& metric, const std::vector<Fresh>& fresh) {
  const auto watts = [&fresh](std::size_t i) { return std::max(fresh[i].value, 0.0); };
  // The change of slope at a sample, as a difference of powers.
  const auto bend = [&](std::size_t i) {
    return i == 0 || i + 1 >= fresh.size() || fresh[i].is_after_gap || fresh[i + 1].is_after_gap
               ? 0.0
               : std::fabs(watts(i + 1) - 2 * watts(i) + watts(i - 1));
  };
  for (std::size_t i = 0; i + 1 < fresh.size(); ++i) {
    Piece piece;
    piece.start_ns = fresh[i].time_ns;
    piece.end_ns = fresh[i + 1].time_ns;
    if (!pieces_.empty() && piece.start_ns < pieces_.back().end_ns) {
      continue;  // another process has already sampled this interval
    }
    if (fresh[i + 1].is_after_gap) {
      continue;
    }
    const double seconds = seconds_between(piece.start_ns, piece.end_ns);
    piece.is_known = true;
    piece.early_ns = i == 0 ? renewal_ns_
                            : std::min(fresh[i].early_ns, base::length_between(fresh[i - 1].time_ns, fresh[i].time_ns));
    piece.end_early_ns = std::min(fresh[i + 1].early_ns, base::length_between(piece.start_ns, piece.end_ns));
    const double step = std::isfinite(metric.step) ? std::fabs(metric.step) : 0;
    if (method_ == EnergyMethod::counter) {
      piece.joules = fresh[i + 1].value - fresh[i].value;
      piece.start_watts = piece.end_watts = piece.joules / seconds;
      piece.low_joules = std::max(piece.joules - step, 0.0);
      piece.high_joules = piece.joules + step;
    } else {
      piece.start_watts = watts(i);
      piece.end_watts = watts(i + 1);
      piece.joules = seconds * (piece.start_watts + piece.end_watts) / 2;
      const double late_s = static_cast<double>(std::max(fresh[i].early_ns, fresh[i + 1].early_ns)) / 1e9;
      const double open = seconds * (std::max(bend(i), bend(i + 1)) / 2 + step) +
                          std::min(late_s, seconds) * std::fabs(piece.end_watts - piece.start_watts);
      piece.low_joules = std::max(piece.joules - open, 0.0);
      piece.high_joules = piece.joules + open;
    }
    if (!pieces_.empty() && piece.start_ns > pieces_.back().end_ns) {
      add_gap(pieces_.back().end_ns, piece.start_ns);
    }
    add_piece(piece);
    known_s_ += seconds;
  }
}

void PowerCurve::add_gap(std::int64_t start_ns, std::int64_t end_ns) {
  Piece gap;
  gap.start_ns = start_ns;
  gap.end_ns = end_ns;
  add_piece(gap);
  ++gap_count_;
}

void PowerCurve::add_piece(const Piece& piece) {
  pieces_.push_back(piece);
  joules_before_.push_back(joules_before_.back() + piece.joules);
  low_before_.push_back(low_before_.back() + piece.low_joules);
  high_before_.push_back(high_before_.back() + piece.high_joules);
  unknown_s_before_.push_back(unknown_s_before_.back() +
                              (piece.is_known ? 0 : seconds_between(piece.start_ns, piece.end_ns)));
}

/// The piece that holds a time, from the first piece's start on; the last one for later times.
std::size_t PowerCurve::piece_at(std::int64_t time_ns) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), time_ns,
                       [](std::int64_t wanted_ns, const Piece& piece) { return wanted_ns < piece.start_ns; });
  return after == pieces_.begin() ? 0 : static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

Energy PowerCurve::between(std::int64_t start_ns, std::int64_t end_ns) const {
  const Energy energy = by_pieces(start_ns, end_ns);
  if (counter_ == nullptr || energy.bound_joules <= 0) {
    return energy;
  }
  const Energy counted = by_counter(start_ns, end_ns);
  return counted.bound_joules < energy.bound_joules && counted.unknown_s <= energy.unknown_s ? counted : energy;
}

Energy PowerCurve::by_pieces(std::int64_t start_ns, std::int64_t end_ns) const {
  Energy energy;
  if (end_ns <= start_ns) {
    return energy;
  }
  if (pieces_.empty() || end_ns <= pieces_.front().start_ns || start_ns >= pieces_.back().end_ns) {
    energy.unknown_s = seconds_between(start_ns, end_ns);
    return energy;
  }
  const std::size_t first = piece_at(start_ns);
  const std::size_t last = piece_at(end_ns - 1);
  energy.joules = joules_before_[last] + pieces_[last].joules_until(end_ns) - joules_before_[first] -
                  pieces_[first].joules_until(start_ns);
  const auto unknown_until = [this](std::size_t piece, std::int64_t time_ns) {
    const Piece& at = pieces_[piece];
    return unknown_s_before_[piece] +
           (at.is_known ? 0 : seconds_between(at.start_ns, std::clamp(time_ns, at.start_ns, at.end_ns)));
  };
  energy.unknown_s = unknown_until(last, end_ns) - unknown_until(first, start_ns) +
                     seconds_between(start_ns, pieces_.front().start_ns) +
                     seconds_between(pieces_.back().end_ns, end_ns);
  // The pieces that lie wholly within, and those of which a part may.
  std::size_t whole = first;
  while (whole < pieces_.size() && pieces_[whole].earliest_ns() < start_ns) {
    ++whole;
  }
  const std::size_t whole_end = pieces_[last].end_ns <= end_ns ? last + 1 : last;
  std::size_t any_end = last + 1;
  while (any_end < pieces_.size() && pieces_[any_end].earliest_ns() < end_ns) {
    ++any_end;
  }
  const double low = whole < whole_end ? low_before_[whole_end] - low_before_[whole] : 0.0;
  const double high = high_before_[any_end] - high_before_[first];
  energy.bound_joules = std::max({energy.joules - low, high - energy.joules, 0.0});
  return energy;
}

Energy PowerCurve::by_counter(std::int64_t start_ns, std::int64_t end_ns) const {
  const std::vector<Piece>& pieces = counter_->pieces_;
  auto first = std::lower_bound(pieces.begin(), pieces.end(), start_ns,
                                [](const Piece& piece, std::int64_t wanted_ns) { return piece.start_ns < wanted_ns; });
  auto end = std::upper_bound(first, pieces.end(), end_ns,
                              [](std::int64_t wanted_ns, const Piece& piece) { return wanted_ns < piece.end_ns; });
  // A reading shows what the counter held when it last renewed itself. It may be read more rarely than that: the device
  // that renews its power renews its counter.
  const auto before_reading = [this](std::int64_t reading_ns, std::int64_t early_ns) {
    return by_pieces(capture::add_times(reading_ns, -std::min(early_ns, renewal_ns_)), reading_ns);
  };
  // Where nothing tells the power before the first reading or the last one, the next ones count.
  if (first != end && before_reading(first->start_ns, first->early_ns).unknown_s > 0) {
    ++first;
  }
  if (first != end && before_reading(std::prev(end)->end_ns, std::prev(end)->end_early_ns).unknown_s > 0) {
    --end;
  }
  if (first == end) {
    return by_pieces(start_ns, end_ns);
  }
  const auto place = [&pieces](auto piece) { return static_cast<std::size_t>(piece - pieces.begin()); };
  const auto sum = [&](const std::vector<double>& before) { return before[place(end)] - before[place(first)]; };
  const Piece& last = *std::prev(end);
  const Energy missed = before_reading(first->start_ns, first->early_ns);
  const Energy not_shown = before_reading(last.end_ns, last.end_early_ns);
  if (sum(counter_->unknown_s_before_) > 0 || missed.unknown_s > 0 || not_shown.unknown_s > 0) {
    return by_pieces(start_ns, end_ns);
  }
  const double counted = sum(counter_->joules_before_);
  const double step = first->high_joules - first->joules;
  const double low = counted - step - missed.joules - missed.bound_joules;
  const double high = counted + step + not_shown.joules + not_shown.bound_joules;
  Energy energy = by_pieces(start_ns, first->start_ns);
  energy += by_pieces(last.end_ns, end_ns);
  energy.joules += counted;
  energy.bound_joules += std::max(counted - std::max(low, 0.0), high - counted);
  return energy;
}

}  // namespace kymo::stats
