// Computes the positions of messages, flows, sync points and samples of stacks.
#include "panel/layout/mark_layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

/// Closer messages and sync points are joined.
constexpr float least_mark_pixels = 8;
/// About this many are examined in total. If there are more, every nth one is.
constexpr std::size_t most_messages = 16384;
constexpr std::size_t most_flow_points = 8192;
constexpr std::size_t most_sync_points = 16384;
constexpr std::size_t most_samples = 16384;
/// Closer samples are joined.
constexpr float least_sample_pixels = 3;

/// Calls visit(row) for every nth row of a list of all pieces, so that about `most` are visited. Returns n.
template <typename Row, typename Visit>
std::size_t visit_some(const std::vector<Piece>& pieces, std::vector<Row> Detail::*list, std::size_t most,
                       const Visit& visit) {
  std::size_t all = 0;
  for (const Piece& piece : pieces) {
    all += ((*piece).*list).size();
  }
  const std::size_t step = all / most + 1;
  for (const Piece& piece : pieces) {
    for (std::size_t i = 0; i < ((*piece).*list).size(); i += step) {
      visit(((*piece).*list)[i]);
    }
  }
  return step;
}

/// Finds the lines of a chart's tracks and of spans open at a time.
class LineFinder {
 public:
  explicit LineFinder(const FlameLayout& flame) : flame_(flame) {
    for (const FlameTrack& track : flame.tracks) {
      tracks_[track.track].title = track.line;
    }
    for (std::size_t row = 0; row < flame.rows.size(); ++row) {
      Track& track = tracks_[flame.rows[row].track];
      track.first_row = track.end_row == 0 ? row : track.first_row;
      track.end_row = row + 1;
    }
  }

  /// The line of a track's title. Returns false if the track is not in the chart.
  [[nodiscard]] bool title_of(TrackId track, std::uint32_t& line) const {
    const auto found = tracks_.find(track);
    if (found == tracks_.end()) {
      return false;
    }
    line = found->second.title;
    return true;
  }

  /// The line of the innermost visible span at a time, else of the title.
  [[nodiscard]] bool line_of(TrackId track, std::int64_t time_ns, double pixel, std::uint32_t& line) const {
    const auto found = tracks_.find(track);
    if (found == tracks_.end()) {
      return false;
    }
    line = found->second.title;
    for (std::size_t i = found->second.first_row; i < found->second.end_row; ++i) {
      const FlameRow& row = flame_.rows[i];
      // A flow enters a span exactly at its start; a box stores that pixel with less precision.
      const auto after = std::upper_bound(row.boxes.begin(), row.boxes.end(), pixel + 0.05,
                                          [](double x, const FlameBox& box) { return x < double{box.left}; });
      if (after != row.boxes.begin() && time_ns <= std::prev(after)->end_ns) {
        line = row.line;
      }
    }
    return true;
  }

 private:
  struct Track {
    std::uint32_t title = 0;
    std::size_t first_row = 0;
    std::size_t end_row = 0;
  };

  const FlameLayout& flame_;
  std::unordered_map<TrackId, Track> tracks_;
};

void lay_out_messages(const TimeAxis& axis, const LineFinder& lines, MarkLayout& out) {
  std::map<std::uint32_t, std::size_t> last_of_line;
  const std::size_t step =
      visit_some(out.pieces, &Detail::messages, most_messages, [&](const timeline::DetailMessage& message) {
        std::uint32_t line = 0;
        if (!overlaps(message.time_ns, message.time_ns, axis.range()) || !lines.title_of(message.track, line)) {
          return;
        }
        const auto pixel = static_cast<float>(axis.to_pixel(message.time_ns));
        const auto [last, is_first] = last_of_line.try_emplace(line, out.messages.size());
        if (!is_first && std::fabs(pixel - out.messages[last->second].pixel) < least_mark_pixels) {
          out.messages[last->second].count += message.count;
          return;
        }
        last->second = out.messages.size();
        out.messages.push_back({pixel, line, message.count, &message});
      });
  for (MessageMark& mark : out.messages) {
    mark.count *= step;
  }
  std::sort(out.messages.begin(), out.messages.end(), [](const MessageMark& a, const MessageMark& b) {
    return std::tie(a.line, a.pixel) < std::tie(b.line, b.pixel);
  });
}

std::vector<FlowEvent> flow_points(const std::vector<Piece>& pieces) {
  std::size_t all = 0;
  for (const Piece& piece : pieces) {
    all += piece->is_exact ? piece->flows.size() : 0;
  }
  // If there are too many, omits some ids.
  const std::uint64_t step = all / most_flow_points + 1;
  std::vector<FlowEvent> points;
  for (const Piece& piece : pieces) {
    for (const FlowEvent& point : piece->flows) {
      if (piece->is_exact && (point.flow_id * 0x9E3779B97F4A7C15U >> 32U) % step == 0) {
        points.push_back(point);
      }
    }
  }
  std::stable_sort(points.begin(), points.end(), [](const FlowEvent& a, const FlowEvent& b) {
    return std::tie(a.flow_id, a.time_ns) < std::tie(b.flow_id, b.time_ns);
  });
  return points;
}

void lay_out_flows(const TimeAxis& axis, const LineFinder& lines, MarkLayout& out) {
  const std::vector<FlowEvent> points = flow_points(out.pieces);
  const auto most_arrows = static_cast<std::size_t>(axis.width() / 2) + 1;
  std::set<std::tuple<int, std::uint32_t, int, std::uint32_t>> taken;
  const auto cell = [&axis](double pixel) { return static_cast<int>(std::clamp(pixel, -8.0, axis.width() + 8) / 4); };
  for (std::size_t i = 1; i < points.size() && out.arrows.size() < most_arrows; ++i) {
    const FlowEvent& from = points[i - 1];
    const FlowEvent& to = points[i];
    const TimeRange range = axis.range();
    if (from.flow_id != to.flow_id || to.phase == FlowPhase::begin || from.phase == FlowPhase::end ||
        !overlaps(from.time_ns, to.time_ns, range)) {
      continue;
    }
    FlowArrow arrow;
    const double left = axis.to_pixel(from.time_ns);
    const double right = axis.to_pixel(to.time_ns);
    if (!lines.line_of(from.track, from.time_ns, left, arrow.from_line) ||
        !lines.line_of(to.track, to.time_ns, right, arrow.to_line) ||
        !taken.emplace(cell(left), arrow.from_line, cell(right), arrow.to_line).second) {
      continue;
    }
    arrow.from = static_cast<float>(left);
    arrow.to = static_cast<float>(right);
    arrow.flow_id = from.flow_id;
    arrow.from_track = from.track;
    arrow.to_track = to.track;
    arrow.from_ns = from.time_ns;
    arrow.to_ns = to.time_ns;
    out.arrows.push_back(arrow);
  }
}

void lay_out_samples(const TimeAxis& axis, const LineFinder& lines,
                     const std::unordered_map<ThreadId, TrackId>& threads, MarkLayout& out) {
  std::map<std::pair<std::uint32_t, bool>, std::size_t> last_of_line;  // of waits, and of the others
  const std::size_t step = visit_some(out.pieces, &Detail::stack_samples, most_samples, [&](const StackSample& sample) {
    const std::int64_t from_ns = subtract_length(sample.time_ns, sample.blocked_ns);
    const auto track = threads.find(sample.thread);
    std::uint32_t line = 0;
    if (track == threads.end() || sample.unsampled_ns > 0 || !overlaps(from_ns, sample.time_ns, axis.range()) ||
        !lines.title_of(track->second, line)) {
      return;
    }
    const auto pixel = static_cast<float>(axis.to_pixel(sample.time_ns));
    const auto from = static_cast<float>(axis.to_pixel(from_ns));
    const auto [last, is_first] = last_of_line.try_emplace({line, sample.is_wait()}, out.samples.size());
    if (!is_first && std::fabs(pixel - out.samples[last->second].pixel) < least_sample_pixels) {
      ++out.samples[last->second].count;
      return;
    }
    last->second = out.samples.size();
    out.samples.push_back({from, pixel, line, 1, &sample});
  });
  for (SampleMark& mark : out.samples) {
    mark.count *= step;
  }
  std::stable_sort(out.samples.begin(), out.samples.end(), [](const SampleMark& a, const SampleMark& b) {
    return std::tie(a.line, a.pixel) < std::tie(b.line, b.pixel);
  });
}

}  // namespace

std::vector<SyncMark> lay_out_sync_points(const std::vector<Piece>& pieces, const TimeAxis& axis) {
  std::vector<SyncMark> marks;
  visit_some(pieces, &Detail::sync_points, most_sync_points, [&](const SyncPoint& point) {
    const auto pixel = static_cast<float>(axis.to_pixel(point.time_ns));
    if (overlaps(point.time_ns, point.time_ns, axis.range()) &&
        (marks.empty() || std::fabs(pixel - marks.back().pixel) >= least_mark_pixels)) {
      marks.push_back({pixel, point.number, point.track, point.time_ns});
    }
  });
  std::stable_sort(marks.begin(), marks.end(),
                   [](const SyncMark& a, const SyncMark& b) { return a.time_ns < b.time_ns; });
  return marks;
}

MarkLayout lay_out_marks(const std::vector<Piece>& pieces, const TimeAxis& axis, const FlameLayout& flame,
                         const std::unordered_map<ThreadId, TrackId>& threads) {
  MarkLayout layout;
  layout.pieces = pieces;
  const LineFinder lines(flame);
  lay_out_messages(axis, lines, layout);
  lay_out_flows(axis, lines, layout);
  lay_out_samples(axis, lines, threads, layout);
  layout.sync_points = lay_out_sync_points(pieces, axis);
  return layout;
}

const MessageMark* find_message(const MarkLayout& layout, std::uint32_t line, double pixel, double reach) {
  const MessageMark* best = nullptr;
  for (const MessageMark& mark : layout.messages) {
    const double distance = std::fabs(double{mark.pixel} - pixel);
    if (mark.line == line && distance <= reach &&
        (best == nullptr || distance < std::fabs(double{best->pixel} - pixel))) {
      best = &mark;
    }
  }
  return best;
}

const SampleMark* find_sample(const MarkLayout& layout, std::uint32_t line, double pixel, double reach) {
  const SampleMark* best = nullptr;
  const SampleMark* wait = nullptr;
  for (const SampleMark& mark : layout.samples) {
    const double distance = std::fabs(double{mark.pixel} - pixel);
    if (mark.line != line || pixel < double{mark.from} - reach || pixel > double{mark.pixel} + reach) {
      continue;
    }
    if (mark.first->is_wait()) {
      wait = &mark;
    } else if (best == nullptr || distance < std::fabs(double{best->pixel} - pixel)) {
      best = &mark;
    }
  }
  return best != nullptr ? best : wait;
}

}  // namespace kymo::panel
