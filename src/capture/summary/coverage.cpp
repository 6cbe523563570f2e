// The bytes of a coverage (docs/format.md, "Summaries"):
//   u8 shift, varint rows left out, zigzag varint first bin of all rows, varint number of rows, then per row:
//     varint track, varint depth * 2 + named, varint first bin - first bin of all rows,
//     varint number of bins n (1..128),
//     n bytes: 0 nothing covered, 255 all of the bin, else covered / bin width * 254, at least 1, at most 254,
//     runs of bins with the same site until n is reached: varint length, varint site (any for empty bins)
#include "capture/summary/coverage.hpp"

#include <algorithm>

#include "base/time_math.hpp"
#include "capture/format/bytes.hpp"

namespace kymo::capture {

namespace {

constexpr unsigned greatest_shift = 57;  // the whole int64 range in 128 bins
constexpr std::uint8_t full = 255;

std::uint8_t quantize(std::uint64_t covered_ns, std::uint64_t bin_ns) {
  if (covered_ns == 0 || covered_ns >= bin_ns) {
    return covered_ns == 0 ? 0 : full;
  }
  const double share = static_cast<double>(covered_ns) / static_cast<double>(bin_ns);
  return static_cast<std::uint8_t>(std::clamp(share * 254.0 + 0.5, 1.0, 254.0));
}

std::uint64_t covered_of(std::uint8_t quantum, std::uint64_t bin_ns) {
  return quantum == full ? bin_ns : static_cast<std::uint64_t>(static_cast<double>(bin_ns) * quantum / 254.0);
}

}  // namespace

CoverageRow* Coverage::row(TrackId track, std::uint16_t depth, bool named) {
  const std::uint64_t key = (std::uint64_t{track.value()} << 32U) | (std::uint64_t{depth} << 1U) | (named ? 1U : 0U);
  const auto found = row_of_.find(key);
  if (found != row_of_.end()) {
    return &rows_[found->second];
  }
  if (rows_.size() >= most_rows) {
    ++rows_left_out_;
    return nullptr;
  }
  row_of_.emplace(key, static_cast<std::uint32_t>(rows_.size()));
  CoverageRow& added = rows_.emplace_back();
  added.track = track;
  added.depth = depth;
  added.named = named;
  return &added;
}

void Coverage::widen() {
  ++shift_;
  first_bin_ >>= 1;
  last_bin_ >>= 1;
  for (CoverageRow& row : rows_) {
    const std::int64_t first = row.first_bin >> 1;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < row.bins.size(); ++i) {
      const auto to = static_cast<std::size_t>(((row.first_bin + static_cast<std::int64_t>(i)) >> 1) - first);
      if (to == kept) {
        row.bins[kept++] = row.bins[i];
      } else {
        row.bins[to].merge(row.bins[i]);
      }
    }
    row.bins.resize(kept);
    row.first_bin = first;
  }
}

void Coverage::reach(std::int64_t first_ns, std::int64_t last_ns) {
  const std::int64_t first = first_ns >> shift_;
  const std::int64_t last = last_ns >> shift_;
  const bool first_use = last_bin_ < first_bin_;
  first_bin_ = first_use ? first : std::min(first_bin_, first);
  last_bin_ = first_use ? last : std::max(last_bin_, last);
  while (last_bin_ - first_bin_ >= std::int64_t{most_bins}) {
    widen();
  }
}

CoverageBin& Coverage::bin_of(CoverageRow& row, std::int64_t bin) {
  if (row.bins.empty()) {
    row.first_bin = bin;
  }
  if (bin < row.first_bin) {
    row.bins.insert(row.bins.begin(), static_cast<std::size_t>(row.first_bin - bin), {});
    row.first_bin = bin;
  }
  const auto offset = static_cast<std::size_t>(bin - row.first_bin);
  if (offset >= row.bins.size()) {
    row.bins.resize(offset + 1);
  }
  return row.bins[offset];
}

void Coverage::add(TrackId track, std::uint16_t depth, base::SiteOrName what, std::int64_t start_ns,
                   std::int64_t end_ns) {
  if (end_ns <= start_ns || depth >= most_depths) {
    return;
  }
  reach(start_ns, end_ns - 1);
  CoverageRow* const to = row(track, depth, base::is_name(what));
  if (to == nullptr) {
    return;
  }
  const std::int64_t first = start_ns >> shift_;
  const std::int64_t last = (end_ns - 1) >> shift_;
  for (std::int64_t bin = first; bin <= last; ++bin) {
    // Unsigned: the last possible bin ends at 2^63.
    const std::uint64_t bin_start = static_cast<std::uint64_t>(bin) << shift_;
    const std::uint64_t from = bin == first ? static_cast<std::uint64_t>(start_ns) : bin_start;
    const std::uint64_t until =
        bin == last ? static_cast<std::uint64_t>(end_ns) : bin_start + (std::uint64_t{1} << shift_);
    bin_of(*to, bin).add(base::value_of(what), until - from);
  }
}

void Coverage::add(TrackId track, std::uint16_t depth, bool named, std::int64_t time_ns, const CoverageBin& bin) {
  if (bin.covered_ns == 0 || depth >= most_depths) {
    return;
  }
  reach(time_ns, time_ns);
  if (CoverageRow* const to = row(track, depth, named); to != nullptr) {
    bin_of(*to, time_ns >> shift_).merge(bin);
  }
}

void Coverage::merge(const Coverage& other) {
  rows_left_out_ += other.rows_left_out_;
  if (other.rows_.empty()) {
    return;
  }
  while (shift_ < other.shift_) {
    widen();
  }
  for (const CoverageRow& row : other.rows_) {
    for (std::size_t i = 0; i < row.bins.size(); ++i) {
      const std::int64_t bin = row.first_bin + static_cast<std::int64_t>(i);
      add(row.track, row.depth, row.named, static_cast<std::int64_t>(static_cast<std::uint64_t>(bin) << other.shift_),
          row.bins[i]);
    }
  }
}

void Coverage::add(const StateRun& run) {
  const auto place_of = [](std::uint32_t cpu) { return std::min(cpu, 0xFFFFFFFEU) + 1; };
  for (const ThreadState& state : run.states) {
    const std::int64_t end_ns = base::add_length(state.start_ns, state.duration_ns);
    add(TrackId{run.thread.value()}, static_cast<std::uint16_t>(state.state), SiteId{place_of(state.cpu)},
        state.start_ns, end_ns);
    if (state.state == RunState::running) {
      add(TrackId{place_of(state.cpu)}, 0, NameId{run.thread.value()}, state.start_ns, end_ns);
    }
  }
}

void Coverage::clear(unsigned shift) {
  *this = Coverage(shift);
}

void Coverage::append_to(ByteBuffer& out) const {
  out.append_u8(static_cast<std::uint8_t>(shift_));
  out.append_varint(rows_left_out_);
  out.append_varint(zigzag(static_cast<std::uint64_t>(first_bin_)));
  out.append_varint(rows_.size());
  for (const CoverageRow& row : rows_) {
    out.append_varint(row.track.value());
    out.append_varint(row.depth * 2U + (row.named ? 1U : 0U));
    out.append_varint(static_cast<std::uint64_t>(row.first_bin - first_bin_));
    out.append_varint(row.bins.size());
    for (const CoverageBin& bin : row.bins) {
      out.append_u8(quantize(bin.covered_ns, static_cast<std::uint64_t>(bin_ns())));
    }
    for (std::size_t i = 0; i < row.bins.size();) {
      std::size_t end = i + 1;
      while (end < row.bins.size() &&
             (row.what(row.bins[end]) == row.what(row.bins[i]) || row.bins[end].covered_ns == 0)) {
        ++end;
      }
      out.append_varint(end - i);
      out.append_varint(row.bins[i].vote.leader());
      i = end;
    }
  }
}

Coverage Coverage::read_from(ByteCursor& in) {
  Coverage result;
  result.shift_ = in.u8();
  if (result.shift_ < least_shift || result.shift_ > greatest_shift) {
    throw DecodeError("the bins of a summary are too narrow or too wide");
  }
  result.rows_left_out_ = in.varint();
  result.first_bin_ = static_cast<std::int64_t>(unzigzag(in.varint()));
  const std::int64_t least_bin = std::numeric_limits<std::int64_t>::min() >> result.shift_;
  if (result.first_bin_ < least_bin || result.first_bin_ > -least_bin - 1) {
    throw DecodeError("the bins of a summary lie outside all times");
  }
  const std::uint64_t rows = in.varint();
  if (rows > most_rows) {
    throw DecodeError("a summary has too many rows of bins");
  }
  result.last_bin_ = result.first_bin_ - 1;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto track = narrow<TrackId>(in.varint());
    const std::uint64_t place = in.varint();
    const std::uint64_t offset = in.varint();
    const std::uint64_t count = in.varint();
    if (place >= std::uint64_t{most_depths} * 2 || offset >= most_bins || count == 0 || count > most_bins - offset) {
      throw DecodeError("a row of bins lies outside its summary");
    }
    CoverageRow* const row = result.row(track, static_cast<std::uint16_t>(place / 2), place % 2 != 0);
    row->first_bin = result.first_bin_ + static_cast<std::int64_t>(offset);
    row->bins.assign(static_cast<std::size_t>(count), {});
    result.last_bin_ = std::max(result.last_bin_, row->first_bin + static_cast<std::int64_t>(count) - 1);
    const auto covered = in.take(count);
    for (std::size_t bin = 0; bin < count; ++bin) {
      row->bins[bin].covered_ns =
          covered_of(std::to_integer<std::uint8_t>(covered[bin]), static_cast<std::uint64_t>(result.bin_ns()));
    }
    for (std::size_t bin = 0; bin < count;) {
      const std::uint64_t length = in.varint();
      const auto site = narrow<std::uint32_t>(in.varint());
      if (length == 0 || length > count - bin) {
        throw DecodeError("the sites of a row of bins do not match its bins");
      }
      for (const std::size_t end = bin + static_cast<std::size_t>(length); bin < end; ++bin) {
        row->bins[bin].vote.add(site, row->bins[bin].covered_ns);
      }
    }
  }
  return result;
}

namespace {

/// Time covered by a depth up to a moment, modulo 2^64.
std::uint64_t covered_until(const ScopeStack& stack, std::size_t depth, std::int64_t time_ns) {
  std::uint64_t covered = stack.ended_ns(depth);
  if (depth < stack.depth() && stack[depth].start_ns < time_ns) {
    covered += static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(stack[depth].start_ns);
  }
  return covered;
}

std::size_t covered_depths(const ScopeStack& stack) {
  return std::min<std::size_t>(stack.depth(), Coverage::most_depths);
}

}  // namespace

std::size_t CoverageCursor::next_stop(std::span<const ScopeEvent> events, std::size_t first) const {
  const auto is_before = [this](const ScopeEvent& event) { return event.time_ns < next_stop_ns_; };
  // If there are many events, the next instant is some thousand events away.
  std::size_t step = 64;
  while (first < events.size() && is_before(events[std::min(first + step, events.size()) - 1])) {
    first = std::min(first + step, events.size());
    step *= 2;
  }
  const auto from = events.begin() + static_cast<std::ptrdiff_t>(first);
  const auto to = events.begin() + static_cast<std::ptrdiff_t>(std::min(first + step, events.size()));
  return static_cast<std::size_t>(std::partition_point(from, to, is_before) - events.begin());
}

void CoverageCursor::pass(Coverage& coverage, TrackId track, const ScopeStack& stack, std::int64_t now_ns) {
  if (has_bin_) {
    vote(stack, std::min(now_ns, bin_end_ns_));
    if (now_ns < bin_end_ns_) {
      return;
    }
    end_bin(coverage, track, stack, bin_end_ns_);
  }
  // The currently open scopes fill the bins in between.
  const std::int64_t filled_ns = std::max((now_ns >> coverage.shift()) << coverage.shift(), bin_end_ns_);
  for (std::size_t depth = 0; depth < covered_depths(stack); ++depth) {
    const ScopeStack::Level open = stack[depth];
    coverage.add(track, static_cast<std::uint16_t>(depth), open.site, std::max(open.start_ns, bin_end_ns_), filled_ns);
  }
  begin_bin(coverage, stack, now_ns, filled_ns);
  vote(stack, now_ns);
}

void CoverageCursor::begin_bin(const Coverage& coverage, const ScopeStack& stack, std::int64_t now_ns,
                               std::int64_t least_ns) {
  const std::int64_t edge_ns = (now_ns >> coverage.shift()) << coverage.shift();
  bin_start_ns_ = std::max(edge_ns, least_ns);
  // The last possible bin ends at the end of time.
  if (__builtin_add_overflow(edge_ns, coverage.bin_ns(), &bin_end_ns_)) {
    bin_end_ns_ = std::numeric_limits<std::int64_t>::max();
  }
  for (std::size_t depth = 0; depth < current_.size(); ++depth) {
    current_[depth] = {covered_until(stack, depth, bin_start_ns_), {}};
  }
  instant_shift_ = coverage.shift() - votes_shift;
  voted_until_ns_ = bin_start_ns_;
  has_bin_ = true;
}

void CoverageCursor::end_bin(Coverage& coverage, TrackId track, const ScopeStack& stack, std::int64_t end_ns) {
  const auto width_ns = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(bin_start_ns_);
  for (std::size_t depth = 0; depth < current_.size(); ++depth) {
    const Current& current = current_[depth];
    const std::uint64_t covered_ns = covered_until(stack, depth, end_ns) - current.counted_ns;
    // Negative if an open scope disappeared without an end: events are missing.
    if (static_cast<std::int64_t>(covered_ns) > 0) {
      CoverageBin bin{std::min(covered_ns, width_ns), current.vote};
      if (bin.vote.empty()) {
        bin.vote.add(stack.last_ended(depth).value(), bin.covered_ns);  // scopes between two instants have no vote
      }
      coverage.add(track, static_cast<std::uint16_t>(depth), false, bin_start_ns_, bin);
    }
  }
  has_bin_ = false;
}

void CoverageCursor::vote(const ScopeStack& stack, std::int64_t until_ns) {
  const std::int64_t instants = (until_ns >> instant_shift_) - (voted_until_ns_ >> instant_shift_);
  if (instants > 0) {
    const auto weight_ns = static_cast<std::uint64_t>(instants) << instant_shift_;
    for (std::size_t depth = 0; depth < covered_depths(stack); ++depth) {
      current_[depth].vote.add(stack[depth].site.value(), weight_ns);
    }
    voted_until_ns_ = until_ns;
  }
  const std::int64_t last_instant_ns = (voted_until_ns_ >> instant_shift_) << instant_shift_;
  if (__builtin_add_overflow(last_instant_ns, std::int64_t{1} << instant_shift_, &next_stop_ns_)) {
    next_stop_ns_ = std::numeric_limits<std::int64_t>::max();
  }
}

void CoverageCursor::flush(Coverage& coverage, TrackId track, const ScopeStack& stack, std::int64_t until_ns) {
  until_ns = std::max(until_ns, has_bin_ ? bin_start_ns_ : from_ns_);
  pass(coverage, track, stack, until_ns);
  end_bin(coverage, track, stack, until_ns);
  from_ns_ = until_ns;
  bin_end_ns_ = until_ns;
  next_stop_ns_ = until_ns;
}

}  // namespace kymo::capture
