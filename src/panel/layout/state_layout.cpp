#include "panel/layout/state_layout.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

using timeline::DetailBin;
using timeline::DetailBins;
using timeline::DetailRow;

/// Narrower states are added up, and more where there would be too many boxes.
constexpr double least_column_pixels = 2;
/// A renderer without vertex offsets has room for some ten thousand rectangles of spans and states.
constexpr std::size_t most_rectangles = 5000;

constexpr std::size_t share_of(RunState state) {
  return std::min<std::size_t>(static_cast<std::size_t>(state), 2);
}

/// A stretch of one lane.
struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  RunState state = RunState::running;
  std::uint32_t what = 0;
};

/// Adds up a lane's stretches and bins, for one lane after the other.
class LaneBuilder {
 public:
  LaneBuilder(const TimeAxis& axis, double column_pixels)
      : axis_(axis), width_(column_pixels), columns_(static_cast<std::size_t>(std::ceil(axis.width() / width_))) {}

  void add(const Stretch& stretch) { stretches_.push_back(stretch); }

  /// Adds bins of a lane's row.
  void add(const DetailBins& level, const DetailRow& row, RunState state) {
    const std::int64_t bin_ns = level.bin_ns(row);
    const double pixels = static_cast<double>(bin_ns) / axis_.ns_per_pixel();
    const std::int64_t first =
        std::min<std::int64_t>(length_between(row.start_ns, axis_.range().start_ns) / bin_ns, row.bin_count);
    double left = axis_.to_pixel(row.start_ns) + static_cast<double>(first) * pixels;
    for (auto i = static_cast<std::uint32_t>(first); i < row.bin_count && left < axis_.width(); ++i, left += pixels) {
      const DetailBin& bin = level.bins[row.first_bin + i];
      if (bin.covered > 0) {
        spread(left, left + pixels, bin.covered, state, bin.name);
      }
    }
  }

  /// The boxes of all that was added; forgets it.
  [[nodiscard]] std::vector<StateBox> take() {
    std::vector<StateBox> boxes;
    take_stretches(boxes);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (column.shares == std::array<float, 3>{}) {
        continue;
      }
      StateBox box;
      box.left = static_cast<float>(static_cast<double>(i) * width_);
      box.right = static_cast<float>(static_cast<double>(i + 1) * width_);
      const float all = column.shares[0] + column.shares[1] + column.shares[2];
      for (std::size_t state = 0; state < box.shares.size(); ++state) {
        box.shares[state] = column.shares[state] / std::max(all, 1.0F);  // several threads of a track
      }
      box.what = column.what;
      column = {};
      if (!boxes.empty() && is_like(boxes.back(), box)) {
        boxes.back().right = box.right;
      } else {
        boxes.push_back(box);
      }
    }
    std::stable_sort(boxes.begin(), boxes.end(), [](const StateBox& a, const StateBox& b) { return a.left < b.left; });
    return boxes;
  }

 private:
  struct Column {
    std::array<float, 3> shares{};
    std::uint32_t what = 0;
    float lead = 0;  // of `what` in a vote by share (Boyer and Moore): who has more than half wins
    void vote(std::uint32_t voter, float share) {
      lead += voter == what ? share : -share;
      what = lead < 0 ? voter : what;
      lead = std::fabs(lead);
    }
  };

  /// Whether two look the same side by side.
  static bool is_like(const StateBox& last, const StateBox& next) {
    constexpr float least_difference = 0.02F;
    const auto differ = [](float a, float b) { return std::fabs(a - b) > least_difference; };
    return !last.is_one && last.right == next.left && last.what == next.what &&
           std::equal(last.shares.begin(), last.shares.end(), next.shares.begin(), std::not_fn(differ));
  }

  /// Adds a share of the pixels from `left` to `right` to the columns there.
  void spread(double left, double right, double share, RunState state, std::uint32_t what) {
    left = std::max(left, 0.0);
    right = std::min(right, static_cast<double>(columns_.size()) * width_);
    for (auto i = static_cast<std::size_t>(left / width_); left < right; ++i) {
      const double end = std::min(static_cast<double>(i + 1) * width_, right);
      if (i >= columns_.size()) {
        return;
      }
      const auto part = static_cast<float>((end - left) / width_ * share);
      columns_[i].shares[share_of(state)] += part;
      columns_[i].vote(what, part);
      left = static_cast<double>(i + 1) * width_;
    }
  }

  /// States that touch and agree are one: they are handed in in parts.
  void take_stretches(std::vector<StateBox>& boxes) {
    std::stable_sort(stretches_.begin(), stretches_.end(),
                     [](const Stretch& a, const Stretch& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 0; i < stretches_.size();) {
      Stretch joined = stretches_[i++];
      for (; i < stretches_.size() && stretches_[i].start_ns == joined.end_ns && stretches_[i].state == joined.state &&
             stretches_[i].what == joined.what;
           ++i) {
        joined.end_ns = stretches_[i].end_ns;
      }
      const double left = axis_.to_pixel(joined.start_ns);
      const double right = axis_.to_pixel(joined.end_ns);
      if (right - left < width_) {
        spread(left, right, 1, joined.state, joined.what);
        continue;
      }
      StateBox& box = boxes.emplace_back();
      box.left = static_cast<float>(left);
      box.right = static_cast<float>(right);
      box.shares[share_of(joined.state)] = 1;
      box.what = joined.what;
      box.is_one = true;
      box.start_ns = joined.start_ns;
      box.end_ns = joined.end_ns;
    }
    stretches_.clear();
  }

  const TimeAxis& axis_;
  double width_;
  std::vector<Column> columns_;
  std::vector<Stretch> stretches_;
};

/// The states of a run in a range.
std::span<const ThreadState> states_in(const StateRun& run, TimeRange range) {
  const auto first =
      std::lower_bound(run.states.begin(), run.states.end(), range.start_ns,
                       [](const ThreadState& state, std::int64_t time_ns) { return state.end_ns() <= time_ns; });
  const auto end =
      std::lower_bound(first, run.states.end(), range.end_ns,
                       [](const ThreadState& state, std::int64_t time_ns) { return state.start_ns < time_ns; });
  return {run.states.data() + (first - run.states.begin()), static_cast<std::size_t>(end - first)};
}

/// The part of a piece's states that is in view, and how to draw it.
class PieceView {
 public:
  PieceView(const timeline::Detail& piece, const TimeAxis& axis, double column_pixels) : piece_(piece), axis_(axis) {
    const double least_ns = column_pixels * axis.ns_per_pixel();
    for (std::size_t level = timeline::Detail::levels; level-- > 1 && level_ == 0;) {
      const DetailBins& bins = piece.state_bins[level];
      level_ = static_cast<double>(bins.scopes_bin_ns) <= least_ns && !bins.rows.empty() ? level : 0;
    }
    const double from = std::clamp(axis.to_pixel(piece.start_ns), 0.0, axis.width());
    const double to = std::clamp(axis.to_pixel(piece.end_ns), 0.0, axis.width());
    pixels_ = to - from;
    has_fine_bins_ = static_cast<double>(piece.state_bins[0].scopes_bin_ns) <= least_ns;
  }

  [[nodiscard]] const timeline::Detail& piece() const { return piece_; }
  [[nodiscard]] const DetailBins& bins() const { return piece_.state_bins[level_]; }
  /// Whether bins show all that there is room for, or there is nothing else.
  [[nodiscard]] bool prefers_bins(std::size_t states, std::size_t lanes) const {
    constexpr std::size_t few = 16;
    return !piece_.is_exact ||
           (has_fine_bins_ && states > few && static_cast<double>(states) > pixels_ * static_cast<double>(lanes));
  }
  [[nodiscard]] std::span<const ThreadState> states(const StateRun& run) const { return states_in(run, axis_.range()); }

 private:
  const timeline::Detail& piece_;
  const TimeAxis& axis_;
  double pixels_ = 0;
  std::size_t level_ = 0;
  bool has_fine_bins_ = false;
};

/// The rows of a track's bins; `named`: of a CPU.
std::span<const DetailRow> rows_of(const DetailBins& bins, TrackId track, bool named) {
  const auto key = [](const DetailRow& row) { return std::pair(row.track, row.named); };
  const auto first = std::lower_bound(bins.rows.begin(), bins.rows.end(), std::pair(track, named),
                                      [&](const DetailRow& row, const auto& wanted) { return key(row) < wanted; });
  const auto end = std::upper_bound(first, bins.rows.end(), std::pair(track, named),
                                    [&](const auto& wanted, const DetailRow& row) { return wanted < key(row); });
  return {bins.rows.data() + (first - bins.rows.begin()), static_cast<std::size_t>(end - first)};
}

void add_thread(const PieceView& view, ThreadId thread, LaneBuilder& lane) {
  const auto& runs = view.piece().states;
  const auto run = std::lower_bound(runs.begin(), runs.end(), thread,
                                    [](const StateRun& r, ThreadId wanted) { return r.thread < wanted; });
  const bool is_there = run != runs.end() && run->thread == thread;
  const std::span<const ThreadState> states = is_there ? view.states(*run) : std::span<const ThreadState>();
  if (view.prefers_bins(states.size(), 1)) {
    for (const DetailRow& row : rows_of(view.bins(), TrackId{thread.value()}, false)) {
      lane.add(view.bins(), row, static_cast<RunState>(std::min<std::uint16_t>(row.depth, 2)));
    }
    return;
  }
  for (const ThreadState& state : states) {
    lane.add({state.start_ns, state.end_ns(), state.state, state.cpu + 1});
  }
}

/// The lanes of a group that are in view: from the first up to the second.
std::pair<std::size_t, std::size_t> lanes_in_view(const LaneGroup& group, const StatePlaces& places) {
  const std::size_t first_line = std::size_t{group.line} + 1;
  const std::size_t count = group.is_folded ? 0 : group.lanes;
  const auto lane_at = [&](std::size_t line) { return std::min(line - std::min(line, first_line), count); };
  return {lane_at(places.first_line), lane_at(places.end_line)};
}

/// What ran on the CPUs in view.
void lay_out_cpus(const std::vector<PieceView>& views, LaneBuilder& builder, const StatePlaces& places,
                  StateLayout& out) {
  const auto [first, end] = lanes_in_view(places.cpu_group, places);
  if (first == end) {
    return;
  }
  std::unordered_map<std::uint32_t, std::vector<Stretch>> exact;
  std::vector<const PieceView*> coarse;
  for (const PieceView& view : views) {
    std::size_t states = 0;
    for (const StateRun& run : view.piece().states) {
      states += view.states(run).size();
    }
    if (view.prefers_bins(states, std::max<std::size_t>(places.cpus.size(), 1))) {
      coarse.push_back(&view);
      continue;
    }
    for (const StateRun& run : view.piece().states) {
      for (const ThreadState& state : view.states(run)) {
        if (state.state == RunState::running) {
          exact[state.cpu].push_back({state.start_ns, state.end_ns(), state.state, run.thread.value()});
        }
      }
    }
  }
  for (std::size_t i = first; i < end; ++i) {
    for (const PieceView* const view : coarse) {
      for (const DetailRow& row : rows_of(view->bins(), TrackId{places.cpus[i] + 1}, true)) {
        builder.add(view->bins(), row, RunState::running);
      }
    }
    for (const Stretch& stretch : exact[places.cpus[i]]) {
      builder.add(stretch);
    }
    const auto line = static_cast<std::uint32_t>(places.cpu_group.line + 1 + i);
    out.cpus.push_back({{}, places.cpus[i], {}, line, builder.take()});
  }
}

StateLayout lay_out_lanes(const std::vector<Piece>& pieces, const TimeAxis& axis, double column_pixels,
                          const StatePlaces& places) {
  StateLayout out;
  std::vector<PieceView> views;
  for (const Piece& piece : pieces) {
    if (!piece->state_bins[0].rows.empty()) {
      views.emplace_back(*piece, axis, column_pixels);
    }
  }
  LaneBuilder builder(axis, column_pixels);
  for (const FlameTrack& track : places.flame.tracks) {
    const auto found = places.threads.find(track.track);
    if (found == places.threads.end() || track.line < places.first_line || track.line >= places.end_line) {
      continue;
    }
    for (const PieceView& view : views) {
      for (const ThreadId thread : found->second) {
        add_thread(view, thread, builder);
      }
    }
    out.threads.push_back({track.track, 0, {}, track.line, builder.take()});
  }
  const auto [first, end] = lanes_in_view(places.scopeless_group, places);
  for (std::size_t i = first; i < end; ++i) {
    for (const PieceView& view : views) {
      add_thread(view, places.scopeless[i], builder);
    }
    const auto line = static_cast<std::uint32_t>(places.scopeless_group.line + 1 + i);
    out.scopeless.push_back({{}, 0, places.scopeless[i], line, builder.take()});
  }
  lay_out_cpus(views, builder, places, out);
  return out;
}

std::size_t rectangles_of(const std::vector<StateLane>& lanes) {
  std::size_t count = 0;
  for (const StateLane& lane : lanes) {
    for (const StateBox& box : lane.boxes) {
      count += static_cast<std::size_t>(
          std::count_if(box.shares.begin(), box.shares.end(), [](float share) { return share > 0; }));
    }
  }
  return count;
}

}  // namespace

RunState StateBox::state() const {
  return static_cast<RunState>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

void add_cpus(const std::vector<Piece>& pieces, std::vector<std::uint32_t>& cpus) {
  for (const Piece& piece : pieces) {
    for (const DetailRow& row : piece->state_bins[timeline::Detail::levels - 1].rows) {
      if (!row.named || row.track.value() == 0) {
        continue;
      }
      const std::uint32_t cpu = row.track.value() - 1;
      const auto place = std::lower_bound(cpus.begin(), cpus.end(), cpu);
      if ((place == cpus.end() || *place != cpu) && cpus.size() < most_state_lanes) {
        cpus.insert(place, cpu);
      }
    }
  }
}

StateLayout lay_out_states(const std::vector<Piece>& pieces, const TimeAxis& axis, const StatePlaces& places) {
  StateLayout out;
  const bool has_states =
      std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return !piece->state_bins[0].rows.empty(); });
  double width = std::max(places.column_pixels, least_column_pixels);
  for (bool is_done = !has_states; !is_done; width *= is_done ? 1 : 2) {
    out = lay_out_lanes(pieces, axis, width, places);
    const std::size_t rectangles = rectangles_of(out.threads) + rectangles_of(out.cpus) + rectangles_of(out.scopeless);
    is_done = rectangles <= most_rectangles || width >= axis.width();
    // With room for twice as many and more, the next one is finer.
    out.column_pixels = rectangles <= most_rectangles / 3 ? width / 2 : width;
  }
  return out;
}

const StateBox* find_state(const std::vector<StateLane>& lanes, std::uint32_t line, double pixel) {
  const auto lane = std::find_if(lanes.begin(), lanes.end(), [line](const StateLane& l) { return l.line == line; });
  const StateBox* best = nullptr;
  for (std::size_t i = 0; lane != lanes.end() && i < lane->boxes.size(); ++i) {
    const StateBox& box = lane->boxes[i];
    const bool is_there = double{box.left} <= pixel && pixel < double{box.right};
    best = is_there && (best == nullptr || box.is_one) ? &box : best;
  }
  return best;
}

ThreadId thread_on(const std::vector<Piece>& pieces, std::uint32_t cpu, std::int64_t time_ns) {
  for (const Piece& piece : pieces) {
    for (const StateRun& run : piece->states) {
      const auto states = states_in(run, {time_ns, add_length(time_ns, 1)});
      if (!states.empty() && states.front().state == RunState::running && states.front().cpu == cpu) {
        return run.thread;
      }
    }
  }
  return {};
}

std::optional<ThreadWake> wake_of(const std::vector<Piece>& pieces, const std::vector<ThreadId>& threads,
                                  TimeRange wait) {
  std::optional<ThreadWake> last;
  for (const Piece& piece : pieces) {
    const auto first =
        std::lower_bound(piece->wakes.begin(), piece->wakes.end(), wait.start_ns,
                         [](const ThreadWake& wake, std::int64_t time_ns) { return wake.time_ns < time_ns; });
    for (auto wake = first; wake != piece->wakes.end() && wake->time_ns <= wait.end_ns; ++wake) {
      const bool is_of_them = std::find(threads.begin(), threads.end(), wake->thread) != threads.end();
      if (is_of_them && (!last || wake->time_ns > last->time_ns)) {
        last = *wake;
      }
    }
  }
  return last;
}

}  // namespace kymo::panel
