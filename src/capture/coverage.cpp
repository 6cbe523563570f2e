// The bytes of a coverage (docs/format.md, "Summaries"):
//   u8 shift, varint rows left out, zigzag varint first bin of all rows, varint number of rows, then per row:
//     varint track, varint depth * 2 + named, varint first bin - first bin of all rows, varint number of bins n
//     (1..128) n bytes: 0 nothing covered, 255 all of the bin, else covered / bin width * 254, at least 1 and at most
//     254 runs of bins with the same site until n is reached: varint length, varint site (any for empty bins)
#include "capture/coverage.hpp"

#include <algorithm>

#include "capture/bytes.hpp"

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
  const std::uint64_t key = (std::uint64_t{track} << 32U) | (std::uint64_t{depth} << 1U) | (named ? 1U : 0U);
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

void Coverage::add(TrackId track, std::uint16_t depth, bool named, std::int64_t start_ns, std::int64_t end_ns,
                   std::uint32_t site) {
  if (end_ns <= start_ns || depth >= most_depths) {
    return;
  }
  reach(start_ns, end_ns - 1);
  CoverageRow* const to = row(track, depth, named);
  if (to == nullptr) {
    return;
  }
  const std::int64_t first = start_ns >> shift_;
  const std::int64_t last = (end_ns - 1) >> shift_;
  for (std::int64_t bin = first; bin <= last; ++bin) {
    // Unsigned: the last bin of all ends at 2^63.
    const std::uint64_t bin_start = static_cast<std::uint64_t>(bin) << shift_;
    const std::uint64_t from = bin == first ? static_cast<std::uint64_t>(start_ns) : bin_start;
    const std::uint64_t until =
        bin == last ? static_cast<std::uint64_t>(end_ns) : bin_start + (std::uint64_t{1} << shift_);
    bin_of(*to, bin).add(site, until - from);
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

void Coverage::clear(unsigned shift) {
  *this = Coverage(shift);
}

void Coverage::append_to(ByteBuffer& out) const {
  out.append_u8(static_cast<std::uint8_t>(shift_));
  out.append_varint(rows_left_out_);
  out.append_varint(zigzag(static_cast<std::uint64_t>(first_bin_)));
  out.append_varint(rows_.size());
  for (const CoverageRow& row : rows_) {
    out.append_varint(row.track);
    out.append_varint(row.depth * 2U + (row.named ? 1U : 0U));
    out.append_varint(static_cast<std::uint64_t>(row.first_bin - first_bin_));
    out.append_varint(row.bins.size());
    for (const CoverageBin& bin : row.bins) {
      out.append_u8(quantize(bin.covered_ns, static_cast<std::uint64_t>(bin_ns())));
    }
    for (std::size_t i = 0; i < row.bins.size();) {
      std::size_t end = i + 1;
      while (end < row.bins.size() && (row.bins[end].site == row.bins[i].site || row.bins[end].covered_ns == 0)) {
        ++end;
      }
      out.append_varint(end - i);
      out.append_varint(row.bins[i].site);
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
      row->bins[bin].lead_ns = row->bins[bin].covered_ns;
    }
    for (std::size_t bin = 0; bin < count;) {
      const std::uint64_t length = in.varint();
      const auto site = narrow<std::uint32_t>(in.varint());
      if (length == 0 || length > count - bin) {
        throw DecodeError("the sites of a row of bins do not match its bins");
      }
      for (const std::size_t end = bin + static_cast<std::size_t>(length); bin < end; ++bin) {
        row->bins[bin].site = row->bins[bin].covered_ns == 0 ? 0 : site;
      }
    }
  }
  return result;
}

void CoverageCursor::flush(Coverage& coverage, TrackId track, std::int64_t from_ns) {
  for (std::uint16_t depth = 0; depth < Coverage::most_depths; ++depth) {
    Current& current = current_[depth];
    coverage.add(track, depth, false, current.start_ns, current.bin);
    current = {};
  }
  from_ns_ = from_ns;
}

void CoverageCursor::add_apart(Coverage& coverage, TrackId track, std::uint16_t depth, std::int64_t start_ns,
                               std::int64_t end_ns, SiteId site) {
  const std::int64_t from_ns = std::max(start_ns, from_ns_);
  if (end_ns <= from_ns) {
    return;
  }
  coverage.add(track, depth, false, from_ns, end_ns, site);
  // The bin in which the scope ended is where the next ones are expected.
  Current& current = current_[depth];
  coverage.add(track, depth, false, current.start_ns, current.bin);
  current = {};
  current.bin.site = site;  // until one of those that follow has a vote
  vote_shift_ = coverage.shift() - votes_shift;
  const auto last_bin = static_cast<std::uint64_t>((end_ns - 1) >> coverage.shift()) << coverage.shift();
  current.start_ns = std::max(static_cast<std::int64_t>(last_bin), from_ns_);
  current.end_ns = __builtin_add_overflow(static_cast<std::int64_t>(last_bin), coverage.bin_ns(), &current.end_ns)
                       ? std::numeric_limits<std::int64_t>::max()
                       : current.end_ns;
}

}  // namespace kymo::capture
