// Cuts a track's scopes at frame marks: each frame of a .vor stream holds its slice of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/events.hpp>

#include "base/text/text.hpp"
#include "capture/summary/scope_walk.hpp"
#include "exchange/vor/flame.hpp"

namespace kymo::exchange {

/// Prefix of the text of a scope that continues from the previous frame.
inline constexpr std::string_view continued_mark = base::cut_mark;

/// The scopes of one track in one frame, in the form that FlameWriter takes.
struct ScopeSlice {
  std::vector<FlameScope> scopes;
  std::string texts;
};

/// The size limit that all pending slices share, and counts of what did not fit.
struct SliceBudget {
  /// A frame with more content loses the rest.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20U;

  std::size_t bytes = 0;
  std::uint64_t scopes_left_out = 0;
  std::uint64_t arguments_cut = 0;
  std::uint64_t late_events = 0;  ///< earlier than a mark at which their track had been cut; moved to it
};

/// The bytes that a slice adds to the budget.
[[nodiscard]] std::size_t bytes_of(const ScopeSlice& slice);

/// Takes the events of one track in order and cuts its scopes at marks.
class TrackSlicer {
 public:
  explicit TrackSlicer(SliceBudget& budget) : budget_(budget) {}

  /// Takes over the open scopes of a run's start, as needed after a missing part.
  void begin(const ScopeRun& run);
  void take(const ScopeEvent& event);
  /// Adds an argument to the innermost scope as text: `name=value`.
  void take_argument(std::string_view name, const ArgumentValue& value, std::string_view text);
  /// Ends the slice at a mark. Open scopes continue in the next one.
  [[nodiscard]] ScopeSlice cut(std::int64_t mark_ns);

  /// The start of the track's first scope, which identifies the track in every frame.
  [[nodiscard]] std::int64_t first_ns() const { return first_ns_; }
  /// Number of scopes since the last cut that began since then.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct Level {
    SiteId site;
    std::size_t place = nowhere;  ///< place in the slice
  };

  void open(SiteId site, std::int64_t start_ns);
  void close_innermost(std::int64_t time_ns);
  /// Puts a level into the slice if there is room.
  void show(Level& level, std::int64_t start_ns, std::string_view text);
  void set_text(FlameScope& scope, std::string_view text);

  struct Visitor;

  SliceBudget& budget_;
  capture::ScopeWalk walk_;
  std::vector<Level> levels_;  // of the open scopes
  std::uint32_t shown_ = 0;
  ScopeSlice slice_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t first_ns_ = 0;
  std::uint64_t begun_ = 0;
  bool has_begun_ = false;
};

}  // namespace kymo::exchange
