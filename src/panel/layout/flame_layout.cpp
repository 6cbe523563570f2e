// Computes the positions of the flame chart's boxes.
#include "panel/layout/flame_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include "panel/data/time_math.hpp"
#include "panel/layout/row_builder.hpp"

namespace kymo::panel {

namespace {

using timeline::DetailBins;
using timeline::DetailLane;
using timeline::DetailRow;

constexpr double mark_reach = 6;

/// Ordered by track; its scopes stand before handed-in spans, then by depth.
using RowKey = FlameRowKey;

/// The key of a row, or of what a piece has for one.
template <typename Row>
RowKey key_of(const Row& row) {
  return {row.track, row.named, row.depth};
}

/// The coarsest bins that are no wider than one joined box, else the finest.
std::size_t level_of(const Detail& piece, double least_ns) {
  for (std::size_t level = Detail::levels; level-- > 1;) {
    if (!piece.bins[level].rows.empty() && static_cast<double>(piece.bins[level].scopes_bin_ns) <= least_ns) {
      return level;
    }
  }
  return 0;
}

/// Calls visit(key) for each row of a piece, in key order.
template <typename Visit>
void visit_rows(const Detail& piece, Visit&& visit) {
  if (piece.is_exact) {
    for (const DetailLane& lane : piece.lanes) {
      visit(key_of(lane));
    }
  } else {
    for (const DetailRow& row : piece.bins[Detail::levels - 1].rows) {
      visit(key_of(row));
    }
  }
}

/// Puts tracks below each other by their rank.
void place_tracks(const TrackView* view, std::vector<FlameRow>& rows, FlameLayout& layout) {
  if (view != nullptr) {
    std::stable_sort(layout.tracks.begin(), layout.tracks.end(), [view](const FlameTrack& a, const FlameTrack& b) {
      return view->rank(a.track) < view->rank(b.track);
    });
  }
  std::unordered_map<TrackId, std::uint32_t> first_lines;
  for (FlameTrack& track : layout.tracks) {
    track.line = layout.lines;
    first_lines[track.track] = track.line;
    layout.lines += track.lines;
  }
  for (FlameRow& row : rows) {
    row.line += first_lines[row.track];
  }
}

/// Adds tracks of which nothing but their titles is shown: those with messages, or that were looked for.
void add_titles(const std::vector<Piece>& pieces, TrackView& view, std::vector<FlameTrack>& tracks) {
  const auto is_before = [](const FlameTrack& track, TrackId id) { return track.track < id; };
  const auto find = [&](TrackId id) { return std::lower_bound(tracks.begin(), tracks.end(), id, is_before); };
  TrackId last;
  for (const Piece& piece : pieces) {
    for (const timeline::DetailMessage& message : piece->messages) {
      if (message.track != std::exchange(last, message.track)) {
        if (const auto place = find(message.track); place == tracks.end() || place->track != message.track) {
          view.show_title(message.track);
        }
      }
    }
  }
  for (const TrackId track : view.titles()) {
    if (const auto place = find(track); place == tracks.end() || place->track != track) {
      tracks.insert(place, {track, 0, 1});
    }
  }
}

/// The rows of all pieces, in order, with their lines.
std::vector<FlameRow> make_rows(const std::vector<Piece>& pieces, TrackView* view, FlameLayout& layout) {
  std::vector<RowKey> keys;
  std::vector<RowKey> of_piece;
  std::vector<RowKey> joined;
  for (const Piece& piece : pieces) {
    of_piece.clear();
    visit_rows(*piece, [&of_piece](const RowKey& key) { of_piece.push_back(key); });
    if (!std::includes(keys.begin(), keys.end(), of_piece.begin(), of_piece.end())) {
      joined.clear();
      std::set_union(keys.begin(), keys.end(), of_piece.begin(), of_piece.end(), std::back_inserter(joined));
      keys.swap(joined);
    }
  }
  if (view != nullptr) {
    keys = view->add(keys);
  }
  std::vector<FlameRow> rows;
  for (const auto& [track, named, depth] : keys) {
    if (layout.tracks.empty() || layout.tracks.back().track != track) {
      layout.tracks.push_back({track, 0, 1});
    }
    FlameRow& row = rows.emplace_back();
    row.track = track;
    row.named = named;
    row.depth = depth;
    row.line = layout.tracks.back().lines++;  // below the title
  }
  if (view != nullptr) {
    add_titles(pieces, *view, layout.tracks);
  }
  place_tracks(view, rows, layout);
  return rows;
}

/// Finds the rows of a piece's lanes and rows, which have the same order.
class RowFinder {
 public:
  explicit RowFinder(std::vector<FlameRow>& rows) : rows_(rows) {}
  FlameRow* find(const RowKey& key) {
    while (at_ < rows_.size() && key_of(rows_[at_]) < key) {
      ++at_;
    }
    return at_ < rows_.size() && key_of(rows_[at_]) == key ? &rows_[at_] : nullptr;
  }

 private:
  std::vector<FlameRow>& rows_;
  std::size_t at_ = 0;
};

/// Up to this many spans are always shown individually. A block may be much shorter than its spans, such as one written
/// during a frame; its bins then cover only that moment.
constexpr std::size_t few_spans = 16;

/// Whether a lane has so many spans that its bins, being fine enough, show all there is room for.
bool is_crowded(const DetailLane& lane, const Detail& piece, std::size_t level, const TimeAxis& axis,
                double least_pixels) {
  const double pixels = static_cast<double>(length_between(piece.start_ns, piece.end_ns)) / axis.ns_per_pixel();
  return lane.spans.size() > few_spans && !piece.bins[level].rows.empty() &&
         static_cast<double>(piece.bins[level].scopes_bin_ns) <= least_pixels * axis.ns_per_pixel() &&
         static_cast<double>(lane.spans.size()) * least_pixels > pixels;
}

const DetailRow* bins_of(const DetailLane& lane, const std::vector<DetailRow>& rows) {
  const auto found = std::lower_bound(rows.begin(), rows.end(), key_of(lane),
                                      [](const DetailRow& row, const RowKey& key) { return key_of(row) < key; });
  return found != rows.end() && key_of(*found) == key_of(lane) ? &*found : nullptr;
}

/// Fills rows with the boxes of pieces, and counts them.
class Filler {
 public:
  Filler(const TimeAxis& axis, double least_pixels, std::vector<FlameRow>& rows)
      : axis_(axis), least_(least_pixels), rows_(rows) {}

  /// Stops once there are more boxes than `most`. Returns the number of boxes.
  std::size_t fill(const std::vector<Piece>& pieces, std::size_t most) {
    for (const Piece& piece : pieces) {
      if (boxes_ > most) {
        break;
      }
      piece->is_exact ? fill_exactly(*piece) : fill_coarsely(*piece);
    }
    return boxes_;
  }

 private:
  [[nodiscard]] std::size_t level_in(const Detail& piece) const {
    return level_of(piece, least_ * axis_.ns_per_pixel());
  }

  template <typename Take>
  void build(FlameRow& row, Take&& take) {
    const std::size_t before = row.boxes.size();
    take(RowBuilder(axis_, least_, row));
    boxes_ += row.boxes.size() - before;
  }

  void fill_exactly(const Detail& piece) {
    const std::size_t level = level_in(piece);
    RowFinder finder(rows_);
    for (const DetailLane& lane : piece.lanes) {
      FlameRow* const row = finder.find(key_of(lane));
      if (row == nullptr) {
        continue;
      }
      const DetailRow* const bins =
          is_crowded(lane, piece, level, axis_, least_) ? bins_of(lane, piece.bins[level].rows) : nullptr;
      build(*row, [&](RowBuilder&& builder) {
        if (bins != nullptr) {
          builder.take_crowded(piece.bins[level], *bins, lane.spans.front(), piece.start_ns);
        } else {
          builder.take(lane.spans);
        }
      });
    }
  }

  void fill_coarsely(const Detail& piece) {
    RowFinder finder(rows_);
    const DetailBins& level = piece.bins[level_in(piece)];
    for (const DetailRow& bins : level.rows) {
      if (FlameRow* const row = finder.find(key_of(bins)); row != nullptr) {
        build(*row, [&](RowBuilder&& builder) { builder.take(level, bins); });
      }
    }
  }

  const TimeAxis& axis_;
  double least_;
  std::vector<FlameRow>& rows_;
  std::size_t boxes_ = 0;
};

}  // namespace

void TrackView::show_title(TrackId track) {
  if (titles_.size() < most_kept) {
    titles_.insert(track);
  }
}

std::vector<TrackId> TrackView::titles() const {
  std::vector<TrackId> shown;
  std::copy_if(titles_.begin(), titles_.end(), std::back_inserter(shown),
               [this](TrackId track) { return !order_.is_hidden(track.value()); });
  return shown;
}

void TrackView::toggle(TrackId track) {
  const int height = order_.height_of(track.value());
  order_.resize(track.value(), height < 0 ? -height : -RowOrder::most_steps - height);
}

std::vector<FlameRowKey> TrackView::add(const std::vector<FlameRowKey>& rows) {
  std::vector<FlameRowKey> all;
  std::set_union(kept_.begin(), kept_.end(), rows.begin(), rows.end(), std::back_inserter(all));
  if (all.size() <= most_kept) {
    kept_ = all;
  }
  if (order_.version() == 0) {
    return all;
  }
  constexpr std::array<std::size_t, RowOrder::most_steps> most_rows = {8, 3, 1};
  TrackId last;
  std::size_t place = 0;
  const auto is_left_out = [&](const FlameRowKey& row) {
    const TrackId track = std::get<0>(row);
    place = track == last ? place + 1 : 0;
    last = track;
    const int height = order_.height_of(track.value());
    return order_.is_hidden(track.value()) || (height < 0 && place >= most_rows[static_cast<std::size_t>(-height) - 1]);
  };
  std::vector<FlameRowKey> shown;
  std::remove_copy_if(all.begin(), all.end(), std::back_inserter(shown), std::ref(is_left_out));
  return shown;
}

FlameLayout lay_out_flame(const std::vector<Piece>& pieces, const TimeAxis& axis, const FlameOptions& options) {
  FlameLayout layout;
  std::vector<FlameRow> rows = make_rows(pieces, options.tracks, layout);
  std::erase_if(
      rows, [&options](const FlameRow& row) { return row.line < options.first_line || row.line >= options.end_line; });
  // With every row full of boxes of this width, there would be exactly the maximum. Rows are seldom full.
  const double full = static_cast<double>(rows.size()) * axis.width() /
                      static_cast<double>(std::max<std::size_t>(options.most_boxes, 1));
  double least = std::ldexp(std::max({options.least_pixels, 1.0, full / 2}), static_cast<int>(options.doublings));
  layout.next_doublings = options.doublings;
  const auto fill = [&] {
    const std::size_t most = least < axis.width() ? options.most_boxes : std::numeric_limits<std::size_t>::max();
    layout.boxes = Filler(axis, least, rows).fill(pieces, most);
  };
  fill();
  while (layout.boxes > options.most_boxes && least < axis.width()) {
    least *= 2;
    ++layout.next_doublings;
    for (FlameRow& row : rows) {
      row.boxes.clear();
    }
    fill();
  }
  // Half of the width makes about twice as many boxes.
  if (layout.next_doublings != 0 && 3 * layout.boxes < options.most_boxes) {
    --layout.next_doublings;
  }
  for (FlameRow& row : rows) {
    for (FlameBox& box : row.boxes) {
      if (!box.is_one) {
        box.start_ns = axis.to_time(double{box.left});
        box.end_ns = axis.to_time(double{box.right});
      }
    }
  }
  layout.rows = std::move(rows);
  return layout;
}

const FlameBox* find_box(const FlameLayout& layout, std::uint32_t line, double pixel, const FlameRow** row) {
  // A span without duration is hard to hit and is drawn as a wider mark.
  const auto is_close = [pixel](const FlameBox& box) {
    return box.is_one && box.start_ns == box.end_ns && std::fabs(double{box.left} - pixel) <= mark_reach;
  };
  for (const FlameRow& candidate : layout.rows) {
    if (candidate.line != line) {
      continue;
    }
    const auto behind = std::upper_bound(candidate.boxes.begin(), candidate.boxes.end(), pixel,
                                         [](double x, const FlameBox& box) { return x < double{box.left}; });
    const FlameBox* const after = behind != candidate.boxes.end() ? &*behind : nullptr;
    const FlameBox* const before = behind != candidate.boxes.begin() ? &*std::prev(behind) : nullptr;
    const FlameBox* const found = before != nullptr && pixel <= double{before->right} + 1 ? before
                                  : after != nullptr && is_close(*after)                  ? after
                                  : before != nullptr && is_close(*before)                ? before
                                                                                          : nullptr;
    if (found != nullptr && row != nullptr) {
      *row = &candidate;
    }
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace kymo::panel
