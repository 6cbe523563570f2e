#include "stats/energy/energy_sharing.hpp"

#include <algorithm>

namespace kymo::stats {

void EnergySharing::Extremes::take(std::uint32_t value, bool may_be_next) {
  least = std::min(least, value);
  most = std::max(most, value);
  if (may_be_next) {
    next_least = has_next ? std::min(next_least, value) : value;
    next_most = has_next ? std::max(next_most, value) : value;
    has_next = true;
  }
}

void EnergySharing::Extremes::go_on(std::uint32_t value) {
  const Extremes before = *this;
  start(value);
  if (before.has_next) {
    least = std::min(before.next_least, value);
    most = std::max(before.next_most, value);
  }
}

EnergySharing::EnergySharing(const std::vector<const PowerCurve*>& curves) {
  for (const PowerCurve* curve : curves) {
    sources_.emplace_back().curve = curve;
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

void EnergySharing::note_sharers() {
  for (Source& source : sources_) {
    source.sharers.take(sharers_, may_be_next(source));
  }
}

/// Adds to the cell its energy since it was last settled; its count was constant in that time.
void EnergySharing::settle(const Source& source, Cell& cell, std::uint32_t count) const {
  cell.piece_joules += static_cast<double>(count) * (source.shared_joules - cell.joules_mark);
  cell.unknown_s += static_cast<double>(count) * (source.unknown_s - cell.unknown_mark);
  cell.joules_mark = source.shared_joules;
  cell.unknown_mark = source.unknown_s;
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
      source.shared_joules += sharers_ == 0 ? 0 : (joules - source.current_joules) / static_cast<double>(sharers_);
      source.current_joules = joules;
    } else if (sharers_ != 0) {
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
    const std::uint32_t count = counts_[consumer];
    settle(source, cell, count);
    if (piece != nullptr && piece->is_known) {
      const double least = static_cast<double>(cell.count.least) / std::max<double>(source.sharers.most, 1);
      const double most = static_cast<double>(cell.count.most) / std::max<double>(source.sharers.least, 1);
      cell.joules += cell.piece_joules;
      cell.low += std::min(least, 1.0) * piece->low_joules;
      cell.high += std::min(most, 1.0) * piece->high_joules;
    }
    cell.piece_joules = 0;
    cell.count.go_on(count);
    if (cell.count.most != 0) {
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
  share_clock_s_ += sharers_ == 0 ? 0 : seconds_between(now_ns_, time_ns) / static_cast<double>(sharers_);
  now_ns_ = time_ns;
}

void EnergySharing::settle_share(ConsumerId consumer) {
  shares_s_[consumer] += static_cast<double>(counts_[consumer]) * (share_clock_s_ - share_marks_s_[consumer]);
  share_marks_s_[consumer] = share_clock_s_;
}

void EnergySharing::change(ConsumerId consumer, std::int32_t by) {
  if (consumer >= counts_.size()) {
    const std::size_t size = std::max<std::size_t>(2 * counts_.size(), consumer + std::size_t{1});
    counts_.resize(size);
    shares_s_.resize(size);
    share_marks_s_.resize(size);
    for (Source& source : sources_) {
      source.cells.resize(size);
    }
  }
  settle_share(consumer);
  const std::uint32_t before = counts_[consumer];
  counts_[consumer] = static_cast<std::uint32_t>(static_cast<std::int64_t>(before) + by);
  for (Source& source : sources_) {
    Cell& cell = source.cells[consumer];
    settle(source, cell, before);
    if (!cell.is_active) {
      cell.is_active = true;
      cell.count.start(before);
      source.active.push_back(consumer);
    }
    const bool next = may_be_next(source);
    cell.count.take(before, next);
    cell.count.take(counts_[consumer], next);
  }
}

void EnergySharing::finish() {
  for (ConsumerId consumer = 0; consumer < counts_.size(); ++consumer) {
    if (counts_[consumer] != 0) {
      change(consumer, -static_cast<std::int32_t>(counts_[consumer]));
    }
  }
  change_sharers(-static_cast<std::int32_t>(sharers_));
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
