#include "panel/layout/row_builder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

using timeline::DetailBin;
using timeline::DetailBins;
using timeline::DetailRow;
using timeline::DetailSpan;

std::vector<DetailSpan>::const_iterator first_from(std::vector<DetailSpan>::const_iterator from,
                                                   std::vector<DetailSpan>::const_iterator end, std::int64_t time_ns) {
  // Searches with doubling steps, because usually the next span is the one.
  std::ptrdiff_t step = 1;
  auto low = from;
  while (end - low > step && low[step].start_ns < time_ns) {
    low += step;
    step *= 2;
  }
  const auto high = end - low > step ? low + step + 1 : end;
  return std::lower_bound(low, high, time_ns,
                          [](const DetailSpan& span, std::int64_t wanted_ns) { return span.start_ns < wanted_ns; });
}

/// The name of the spans that take most of the time among several, of which a sample votes.
std::uint32_t name_of_most(std::vector<DetailSpan>::const_iterator from, std::vector<DetailSpan>::const_iterator end) {
  constexpr std::int64_t most_voters = 8;
  capture::SiteVote vote;
  if (end - from <= most_voters) {
    for (auto at = from; at != end; ++at) {
      vote.add(at->name, static_cast<std::uint64_t>(length_between(at->start_ns, at->end_ns)) + 1);
    }
    return vote.leader();
  }
  // Those that are open at evenly spaced times.
  const std::int64_t step_ns = length_between(from->start_ns, (end - 1)->end_ns) / most_voters;
  std::int64_t time_ns = add_length(from->start_ns, step_ns / 2);
  auto at = from;
  for (std::int64_t i = 0; i < most_voters; ++i, time_ns = add_length(time_ns, step_ns)) {
    at = std::prev(first_from(at, end, add_length(time_ns, 1)));
    vote.add(at->name, at->end_ns > time_ns ? 1 : 0);
  }
  return vote.empty() ? from->name : vote.leader();
}

FlameBox box_of(const DetailSpan& span, double left, double right) {
  FlameBox box;
  box.left = static_cast<float>(left);
  box.right = static_cast<float>(right);
  box.name = span.name;
  box.flags = span.flags;
  box.start_ns = span.start_ns;
  box.end_ns = span.end_ns;
  return box;
}

/// What a box is worth in the vote on the name of several: its width, in parts of a pixel, as far as it is covered.
std::uint64_t weight_of(const FlameBox& box) {
  constexpr float parts = 4096;
  return static_cast<std::uint64_t>(std::max((box.right - box.left) * box.covered, 0.0F) * parts) + 1;
}

}  // namespace

RowBuilder::RowBuilder(const TimeAxis& axis, double least_pixels, FlameRow& row)
    : axis_(axis), least_(least_pixels), row_(row), start_ns_(axis.range().start_ns), end_ns_(axis.range().end_ns) {}

void RowBuilder::take(const std::vector<DetailSpan>& spans) {
  auto at = std::lower_bound(spans.begin(), spans.end(), start_ns_,
                             [](const DetailSpan& span, std::int64_t time_ns) { return span.end_ns < time_ns; });
  while (at != spans.end() && at->start_ns <= end_ns_) {
    const double left = axis_.to_pixel(at->start_ns);
    const double right = axis_.to_pixel(at->end_ns);
    if (right - left >= least_) {
      put_one(*at, left, right);
      ++at;
      continue;
    }
    // Spans that begin within the same few pixels form one box; all but the first are skipped in one step.
    const double cell_end = (std::floor(left / least_) + 1) * least_;
    auto next = first_from(at + 1, spans.end(), axis_.to_time(cell_end));
    // Only the last of them may reach beyond these pixels. It is shown by itself then.
    if (next - at > 1 && axis_.to_pixel((next - 1)->end_ns) - axis_.to_pixel((next - 1)->start_ns) >= least_) {
      --next;
    }
    if (next - at == 1) {
      put_one(*at, left, right);
    } else {
      FlameBox box = box_of(*at, left, std::max(axis_.to_pixel((next - 1)->end_ns), left));
      box.end_ns = (next - 1)->end_ns;
      box.is_one = false;
      box.covered = 0.85F;
      box.name = name_of_most(at, next);
      put_narrow(box);
    }
    at = next;
  }
}

void RowBuilder::take(const DetailBins& level, const DetailRow& row, double from) {
  const std::int64_t bin_ns = level.bin_ns(row);
  const double pixels = static_cast<double>(bin_ns) / axis_.ns_per_pixel();
  const std::int64_t first = std::min<std::int64_t>(length_between(row.start_ns, start_ns_) / bin_ns, row.bin_count);
  double left = axis_.to_pixel(row.start_ns) + static_cast<double>(first) * pixels;
  for (auto i = static_cast<std::uint32_t>(first); i < row.bin_count && left <= axis_.width(); ++i, left += pixels) {
    const DetailBin& bin = level.bins[row.first_bin + i];
    if (bin.covered <= 0 || left + pixels <= from) {
      continue;
    }
    FlameBox box;
    box.left = static_cast<float>(std::max(left, from));
    box.right = static_cast<float>(std::min(left + pixels, 1e9));
    box.covered = bin.covered;
    box.name = bin.name;
    box.is_one = false;
    put_narrow(box);
  }
}

void RowBuilder::take_crowded(const DetailBins& level, const DetailRow& row, const DetailSpan& first,
                              std::int64_t piece_start_ns) {
  const double left = axis_.to_pixel(first.start_ns);
  const double right = axis_.to_pixel(first.end_ns);
  if (first.start_ns < piece_start_ns && right - left >= least_) {
    put_one(first, left, right);
    take(level, row, right);
  } else {
    take(level, row);
  }
}

void RowBuilder::put_one(const DetailSpan& span, double left, double right) {
  if (!row_.boxes.empty()) {
    FlameBox& last = row_.boxes.back();
    if (last.is_one && last.start_ns == span.start_ns && last.name == span.name) {
      // The previous block holds the same span.
      last.right = std::max(last.right, static_cast<float>(right));
      last.end_ns = std::max(last.end_ns, span.end_ns);
      last.flags = span.flags;
      return;
    }
  }
  FlameBox box = box_of(span, left, std::max(right, left + 1));
  put_after_last(box);
}

/// Votes on the name of the last box. Votes for one name in a row count together, which changes no result.
void RowBuilder::vote(const FlameBox& box) {
  if (box.name != voted_) {
    if (!is_contested_) {
      vote_ = {};
      is_contested_ = true;
    }
    vote_.add(voted_, votes_);
    voted_ = box.name;
    votes_ = 0;
  }
  votes_ += weight_of(box);
}

/// Names the last box by the vote on it, if there was one. Most have one candidate.
void RowBuilder::name_last() {
  if (votes_ != 0 && is_contested_) {
    vote_.add(voted_, votes_);
    row_.boxes.back().name = vote_.leader();
  }
  votes_ = 0;
}

bool RowBuilder::is_near(const FlameBox& box, const FlameBox& last) const {
  return double{box.left} < double{last.left} + least_ && double{last.right} - last.left <= least_;
}

/// Joins a narrow box with the previous narrow one, up to the least width.
void RowBuilder::put_narrow(FlameBox box) {
  if (!row_.boxes.empty() && !row_.boxes.back().is_one) {
    FlameBox& last = row_.boxes.back();
    bool is_joined = is_near(box, last);
    if (!is_joined) {
      name_last();
      is_joined = box.name == last.name && box.left - last.right < 0.5F && std::abs(box.covered - last.covered) < 0.08F;
    }
    if (is_joined) {
      vote(box);
      last.covered = std::max(last.covered, box.covered);
      last.right = std::max(last.right, box.right);
      last.end_ns = std::max(last.end_ns, box.end_ns);
      return;
    }
  }
  const FlameBox voter = box;
  if (double{box.right} - box.left < least_ / 2) {
    box.right = box.left + static_cast<float>(least_ / 2);
  }
  if (put_after_last(box)) {
    is_contested_ = false;
    voted_ = voter.name;
    votes_ = weight_of(voter);
  }
}

/// Returns false if nothing of the box is left.
bool RowBuilder::put_after_last(FlameBox box) {
  name_last();
  box.left = std::max(box.left, -1.0F);
  box.right = std::min(box.right, static_cast<float>(axis_.width()) + 1);
  if (!row_.boxes.empty()) {
    // Coarse pieces may overlap their fine neighbours slightly.
    box.left = std::max(box.left, row_.boxes.back().left);
    row_.boxes.back().right = std::min(row_.boxes.back().right, std::max(box.left, row_.boxes.back().left));
  }
  if (box.right <= box.left) {
    return false;
  }
  row_.boxes.push_back(box);
  return true;
}

}  // namespace kymo::panel
