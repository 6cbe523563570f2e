// The positions of the flame chart's boxes. Draws nothing: turns pieces and an axis into boxes, with a maximum that
// depends on the pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "panel/data/panel_data.hpp"
#include "panel/layout/row_order.hpp"
#include "panel/layout/time_axis.hpp"

namespace kymo::panel {

/// A span, or several that are too narrow to show individually: a place on the screen, not a span.
struct FlameBox {
  float left = 0;  ///< pixels from the axis's left end
  float right = 0;
  float covered = 1;       ///< the share of its width covered by spans
  std::uint32_t name = 0;  ///< of the span, or of one that took much of the time: see FlameRow::what
  std::uint16_t flags = 0;
  bool is_one = true;         ///< a single span with exact times
  std::int64_t start_ns = 0;  ///< of the span, or of all the box covers
  std::int64_t end_ns = 0;
};

/// The boxes of one depth of one track, by ascending left end.
struct FlameRow {
  TrackId track;
  std::uint16_t depth = 0;
  bool named = false;
  std::uint32_t line = 0;  ///< counts from the chart's top
  std::vector<FlameBox> boxes;
  [[nodiscard]] base::SiteOrName what(const FlameBox& box) const { return base::site_or_name(named, box.name); }
};

/// A track with its title, which has a line of its own above its rows.
struct FlameTrack {
  TrackId track;
  std::uint32_t line = 0;  ///< of the title
  std::uint32_t lines = 1;
};

struct FlameLayout {
  std::vector<FlameTrack> tracks;  ///< from top to bottom
  std::vector<FlameRow> rows;      ///< those within the requested lines, by ascending track
  std::uint32_t lines = 0;         ///< of all tracks
  std::size_t boxes = 0;
  unsigned next_doublings = 0;  ///< FlameOptions::doublings for a view that differs little
};

/// A depth of a track: its track, whether its spans are named, and the depth.
using FlameRowKey = std::tuple<TrackId, bool, std::uint16_t>;

/// How tracks are arranged, and the rows seen so far, which stay where they are while the view moves.
///
/// A track's height is the number of rows that it shows at most. One step lower than usual are 8 rows, two 3, three 1.
class TrackView {
 public:
  /// Tracks stand by ascending rank.
  using Rank = std::function<std::uint64_t(TrackId)>;
  /// Rows beyond this number are shown only while they hold something.
  static constexpr std::size_t most_kept = 2048;

  explicit TrackView(Rank rank) : rank_(std::move(rank)) {}

  /// Shows only the first row of a track, or all again.
  void toggle(TrackId track);
  /// Whether rows of a track may be left out.
  [[nodiscard]] bool is_collapsed(TrackId track) const { return order_.height_of(track.value()) < 0; }
  /// The user's arrangement.
  [[nodiscard]] RowOrder& order() { return order_; }
  [[nodiscard]] const RowOrder& order() const { return order_; }
  [[nodiscard]] std::uint64_t rank(TrackId track) const { return order_.place_of(track.value(), rank_(track)); }
  /// Shows the title of a track that has no rows: something else is there to see. At most most_kept.
  void show_title(TrackId track);
  /// Those, in order, except hidden ones.
  [[nodiscard]] std::vector<TrackId> titles() const;
  /// Increases with each change of what the user or show_title() did.
  [[nodiscard]] std::uint32_t version() const { return order_.version() + static_cast<std::uint32_t>(titles_.size()); }
  /// Adds the rows that hold something, in order, to those seen, and returns all to show, in order.
  [[nodiscard]] std::vector<FlameRowKey> add(const std::vector<FlameRowKey>& rows);

 private:
  Rank rank_;
  RowOrder order_{RowOrder::most_steps, 0};
  std::vector<FlameRowKey> kept_;
  std::set<TrackId> titles_;
};

struct FlameOptions {
  double least_pixels = 2;         ///< narrower spans are joined
  std::size_t most_boxes = 10000;  ///< if this is exceeded, the width is doubled and the layout made again
  unsigned doublings = 0;          ///< so often at least
  std::uint32_t first_line = 0;    ///< the visible lines
  std::uint32_t end_line = 0xFFFFFFFF;
  TrackView* tracks = nullptr;  ///< else by ascending id, only with rows that hold something
};

/// Lays out the pieces that overlap the axis's range. The cost depends on the pixels of the requested lines, not on the
/// number of spans in the pieces.
[[nodiscard]] FlameLayout lay_out_flame(const std::vector<Piece>& pieces, const TimeAxis& axis,
                                        const FlameOptions& options);

/// The box at a pixel of a line; nullptr if there is none.
[[nodiscard]] const FlameBox* find_box(const FlameLayout& layout, std::uint32_t line, double pixel,
                                       const FlameRow** row = nullptr);

/// The direction from one span to another.
enum class Neighbour { outer, inner, before, after };

/// The neighbour of a span among those shown individually: the span around it, the first one inside it, or the one
/// before or after it on its row.
[[nodiscard]] std::optional<SpanKey> find_neighbour(const FlameLayout& layout, const SpanKey& span, Neighbour which);
/// The outermost span closest to a time, on the first track that has one.
[[nodiscard]] std::optional<SpanKey> find_closest_span(const FlameLayout& layout, std::int64_t time_ns);

}  // namespace kymo::panel
