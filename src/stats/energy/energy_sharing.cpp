#include "stats/energy/energy_sharing.hpp"

#include <algorithm>

namespace kymo::stats {

void EnergySharing::Span::take(const Span& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

void EnergySharing::Bounds::take(const Bounds& other) {
  least.take(other.least);
  most.take(other.most);
  open.take(other.open);
}

void EnergySharing::Extremes::take(const Standing& standing, bool may_be_next) {
  const Bounds bounds(standing);
  here.take(bounds);
  if (may_be_next) {
    if (has_next) {
      next.take(bounds);
    } else {
      next = bounds;
    }
    has_next = true;
  }
}

void EnergySharing::Extremes::go_on(const Standing& standing) {
  const Extremes before = *this;
  start(standing);
  if (before.has_next) {
    here.take(before.next);
  }
}

EnergySharing::EnergySharing(const std::vector<const PowerCurve*>& curves, std::int32_t full) : full_(full) {
  static const PowerCurve nothing_measures_it;
  for (const PowerCurve* curve : curves) {
    sources_.emplace_back().curve = curve;
  }
  if (sources_.empty()) {
    sources_.emplace_back().curve = &nothing_measures_it;
  }
}

const PowerCurve::Piece* EnergySharing::current(const Source& source) {
  return source.next_piece == 0 || source.next_piece > source.curve->pieces().size()
             ? nullptr
             : &source.curve->pieces()[source.next_piece - 1];
}

/// Whether the next piece may already have begun.
bool EnergySharing::may_be_next(const Source& source) const {
  const auto& pieces = source.curve->pieces();
  return source.next_piece < pieces.size() && now_ns_ >= pieces[source.next_piece].earliest_ns();
}

void EnergySharing::change_sharers(const Weight& by, std::int32_t opened) {
  note_sharers();
  sharers_.weight += by;
  sharers_.open += opened;
  note_sharers();
}

void EnergySharing::note_sharers() {
  for (Source& source : sources_) {
    source.sharers.take(sharers_, may_be_next(source));
  }
}

/// Adds to the cell its energy since it was last settled; its standing was constant in that time.
void EnergySharing::settle(const Source& source, Cell& cell, const Standing& standing) {
  cell.piece_joules += static_cast<double>(standing.weight.likely) * (source.shared_joules - cell.joules_mark);
  cell.unknown_s += static_cast<double>(standing.open) * (source.unknown_s - cell.unknown_mark);
  cell.joules_mark = source.shared_joules;
  cell.unknown_mark = source.unknown_s;
}

/// The least part of a piece's power that some sharers can have had beside others of that weight.
///
/// Sharers that run all the time have at each moment at least their least weight by that of all. Those that run in a
/// share x of the time (all together, which is the worst case) have least if the others run just then: their part is x
/// times that of the mean weights, since it is convex in the weight of the others.
double EnergySharing::part_of(const Bounds& some, double others) const {
  const double weight = some.least.low;
  if (weight <= 0) {
    return 0;
  }
  const bool always_run = some.least.low >= some.open.low * full_;
  const double running = always_run ? 1 : std::min(weight / (static_cast<double>(some.open.high) * full_), 1.0);
  return running * weight / (weight + others);
}

/// Whenever all sharers together weigh the most, a consumer's own weigh at least as much as they ever do; so the others
/// never weigh more than the difference. Likewise for the least.
double EnergySharing::least_share(const Bounds& own, const Bounds& all) const {
  const bool is_alone = all.open.high == own.open.low;
  return is_alone && own.open.low > 0 ? 1 : part_of(own, std::max(all.most.high - own.most.low, 0));
}

double EnergySharing::greatest_share(const Bounds& own, const Bounds& all) const {
  if (own.open.high == 0) {
    return 0;
  }
  Bounds others;
  others.least.low = std::max(all.least.low - own.least.high, 0);
  others.open.low = std::max(all.open.low - own.open.high, 0);
  others.open.high = std::max(all.open.high - own.open.low, 0);
  return 1 - part_of(others, own.most.high);
}

void EnergySharing::go_to(Source& source, std::int64_t time_ns) {
  const auto& pieces = source.curve->pieces();
  std::int64_t from_ns = now_ns_;
  while (true) {
    const PowerCurve::Piece* const piece = current(source);
    const bool is_before = source.next_piece == 0;
    const std::int64_t border_ns =
        is_before ? (pieces.empty() ? std::numeric_limits<std::int64_t>::max() : pieces.front().start_ns)
                  : (piece != nullptr ? piece->end_ns : std::numeric_limits<std::int64_t>::max());
    const std::int64_t until_ns = std::min(time_ns, border_ns);
    if (piece != nullptr && piece->is_known) {
      const double joules = piece->joules_until(until_ns);
      source.shared_joules += sharers_.weight.likely == 0
                                  ? 0
                                  : (joules - source.current_joules) / static_cast<double>(sharers_.weight.likely);
      source.current_joules = joules;
    } else if (sharers_.weight.likely != 0) {
      source.unknown_s += seconds_between(from_ns, until_ns);
    }
    from_ns = std::max(from_ns, until_ns);
    if (time_ns < border_ns || (piece == nullptr && !is_before) || pieces.empty()) {
      return;
    }
    end_piece(source);
  }
}

/// Settles all consumers of the current piece and advances to the next.
void EnergySharing::end_piece(Source& source) {
  const PowerCurve::Piece* const piece = current(source);
  std::size_t kept = 0;
  for (const ConsumerId consumer : source.active) {
    Cell& cell = source.cells[consumer];
    const Standing& standing = standings_[consumer];
    settle(source, cell, standing);
    if (piece != nullptr && piece->is_known) {
      cell.joules += cell.piece_joules;
      cell.low += least_share(cell.extremes.here, source.sharers.here) * piece->low_joules;
      cell.high += greatest_share(cell.extremes.here, source.sharers.here) * piece->high_joules;
    }
    cell.piece_joules = 0;
    cell.extremes.go_on(standing);
    if (cell.extremes.here.open.high != 0) {
      source.active[kept++] = consumer;
    } else {
      cell.is_active = false;
    }
  }
  source.active.resize(kept);
  source.sharers.go_on(sharers_);
  source.current_joules = 0;
  ++source.next_piece;
}

void EnergySharing::advance(std::int64_t time_ns) {
  if (now_ns_ == std::numeric_limits<std::int64_t>::min()) {
    now_ns_ = time_ns;
  }
  if (time_ns < now_ns_) {
    return;
  }
  for (Source& source : sources_) {
    go_to(source, time_ns);
  }
  share_clock_s_ +=
      sharers_.weight.likely == 0 ? 0 : seconds_between(now_ns_, time_ns) / static_cast<double>(sharers_.weight.likely);
  now_ns_ = time_ns;
}

void EnergySharing::settle_share(ConsumerId consumer) {
  shares_s_[consumer] +=
      static_cast<double>(standings_[consumer].weight.likely) * (share_clock_s_ - share_marks_s_[consumer]);
  share_marks_s_[consumer] = share_clock_s_;
}

void EnergySharing::change(ConsumerId consumer, const Weight& by, std::int32_t opened) {
  if (consumer >= standings_.size()) {
    const std::size_t size = std::max<std::size_t>(2 * standings_.size(), consumer + std::size_t{1});
    standings_.resize(size);
    shares_s_.resize(size);
    share_marks_s_.resize(size);
    for (Source& source : sources_) {
      source.cells.resize(size);
    }
  }
  settle_share(consumer);
  Standing& standing = standings_[consumer];
  const Standing before = standing;
  standing.weight += by;
  standing.open += opened;
  for (Source& source : sources_) {
    Cell& cell = source.cells[consumer];
    settle(source, cell, before);
    if (!cell.is_active) {
      cell.is_active = true;
      cell.extremes.start(before);
      source.active.push_back(consumer);
    }
    const bool next = may_be_next(source);
    cell.extremes.take(before, next);
    cell.extremes.take(standing, next);
  }
}

void EnergySharing::finish() {
  for (ConsumerId consumer = 0; consumer < standings_.size(); ++consumer) {
    if (const Standing standing = standings_[consumer]; standing.open != 0) {
      change(consumer, -standing.weight, -standing.open);
    }
  }
  change_sharers(-sharers_.weight, -sharers_.open);
  // The rest of the current piece goes to no consumer. The part that reaches into the next piece may include its
  // energy.
  for (Source& source : sources_) {
    end_piece(source);
    end_piece(source);
  }
}

Energy EnergySharing::energy_of(ConsumerId consumer) const {
  Energy energy;
  for (const Source& source : sources_) {
    if (consumer < source.cells.size()) {
      const Cell& cell = source.cells[consumer];
      energy.joules += cell.joules;
      energy.bound_joules += std::max({cell.joules - cell.low, cell.high - cell.joules, 0.0});
      energy.unknown_s = std::max(energy.unknown_s, cell.unknown_s);
    }
  }
  return energy;
}

double EnergySharing::share_s(ConsumerId consumer) const {
  return consumer < shares_s_.size() ? shares_s_[consumer] : 0;
}

}  // namespace kymo::stats
