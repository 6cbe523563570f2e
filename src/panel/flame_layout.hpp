// Where the flame chart's boxes stand. Nothing is drawn here: what it takes is pieces and an axis, what it makes is
// boxes, at most so many as the pixels allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "panel/panel_data.hpp"
#include "panel/time_axis.hpp"

namespace kymo::panel {

/// A span, or several that are too narrow to be told apart.
struct FlameBox {
  float left = 0;  ///< pixels from the axis's left end
  float right = 0;
  float covered = 1;       ///< the share of its width that spans take
  std::uint32_t name = 0;  ///< SiteId or NameId: of the span, or of one that took much of the time
  std::uint16_t flags = 0;
  bool is_one = true;         ///< a single span that is known exactly
  std::int64_t start_ns = 0;  ///< of the span, or of what the box stands for
  std::int64_t end_ns = 0;
};

/// The boxes of one depth of one track, by ascending left end.
struct FlameRow {
  TrackId track = 0;
  std::uint16_t depth = 0;
  bool named = false;
  std::uint32_t line = 0;  ///< counted from the chart's top
  std::vector<FlameBox> boxes;
};

/// A track with its title, which stands on a line of its own above its rows.
struct FlameTrack {
  TrackId track = 0;
  std::uint32_t line = 0;  ///< of the title
  std::uint32_t lines = 1;
};

struct FlameLayout {
  std::vector<FlameTrack> tracks;  ///< from top to bottom: every one that did something in the range
  std::vector<FlameRow> rows;      ///< those within the lines that were asked for
  std::uint32_t lines = 0;         ///< of all tracks
  std::size_t boxes = 0;
};

struct FlameOptions {
  double least_pixels = 2;         ///< narrower spans are drawn together
  std::size_t most_boxes = 10000;  ///< where it comes to more, more are drawn together
  std::uint32_t first_line = 0;    ///< the lines that are seen
  std::uint32_t end_line = 0xFFFFFFFF;
};

/// Lays out the pieces that overlap the axis's range. Costs what the pixels of the lines asked for cost, however many
/// spans the pieces hold.
[[nodiscard]] FlameLayout lay_out_flame(const std::vector<Piece>& pieces, const TimeAxis& axis,
                                        const FlameOptions& options);

/// The box under a point: the row of a line and its box at a pixel; nullptr where there is none.
[[nodiscard]] const FlameBox* find_box(const FlameLayout& layout, std::uint32_t line, double pixel,
                                       const FlameRow** row = nullptr);

/// Which span next to another one.
enum class Neighbour { outer, inner, before, after };

/// What is next to a span among those that are laid out one by one: the one around it, the first inside it, the one
/// before or after it on its row.
[[nodiscard]] std::optional<SpanKey> find_neighbour(const FlameLayout& layout, const SpanKey& span, Neighbour which);
/// The outermost span that is closest to a time, of the first track that has one.
[[nodiscard]] std::optional<SpanKey> find_closest_span(const FlameLayout& layout, std::int64_t time_ns);

}  // namespace kymo::panel
