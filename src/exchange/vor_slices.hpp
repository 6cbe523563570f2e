// A track's scopes cut at frame marks: what each frame of a .vor stream holds of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/events.hpp>

#include "base/text.hpp"
#include "exchange/vor_flame.hpp"

namespace kymo::exchange {

/// Begins the text of a scope that goes on from the frame before.
inline constexpr std::string_view continued_mark = base::cut_mark;

/// The scopes of one track in one frame, as FlameWriter takes them.
struct ScopeSlice {
  std::vector<FlameScope> scopes;
  std::string texts;
};

/// What all slices that wait to be written share: the room they have, and what did not fit.
struct SliceBudget {
  /// A frame with more has to do without the rest.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20U;

  std::size_t bytes = 0;
  std::uint64_t scopes_left_out = 0;
  std::uint64_t arguments_cut = 0;
  std::uint64_t late_events = 0;  ///< before a mark at which their track had been cut already; moved to it
};

/// The bytes that a slice counts for.
[[nodiscard]] std::size_t bytes_of(const ScopeSlice& slice);

/// Takes the events of one track in order and cuts its scopes at marks.
class TrackSlicer {
 public:
  explicit TrackSlicer(SliceBudget& budget) : budget_(budget) {}

  /// Makes what is open that of a run's start, as where a part before it is missing.
  void begin(const ScopeRun& run);
  void take(const ScopeEvent& event);
  /// Adds an argument to the innermost scope as text: `name=value`.
  void take_argument(std::string_view name, const ArgumentValue& value, std::string_view text);
  /// Ends the slice at a mark; what is open goes on in the next one.
  [[nodiscard]] ScopeSlice cut(std::int64_t mark_ns);

  /// The start of the track's first scope, which stands for the track in every frame.
  [[nodiscard]] std::int64_t first_ns() const { return first_ns_; }
  /// Scopes since the last cut that began since then.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct Level {
    SiteId site = 0;
    std::int64_t start_ns = 0;
    std::size_t place = nowhere;  ///< in the slice
  };

  void open(SiteId site, std::int64_t start_ns);
  void close_to(std::size_t depth, std::int64_t time_ns);
  [[nodiscard]] std::int64_t settle(std::int64_t time_ns);
  /// Puts a level into the slice, where there is room.
  void show(Level& level, std::int64_t start_ns, std::string_view text);
  void set_text(FlameScope& scope, std::string_view text);

  SliceBudget& budget_;
  std::vector<Level> levels_;
  std::uint32_t shown_ = 0;
  ScopeSlice slice_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t first_ns_ = 0;
  std::uint64_t begun_ = 0;
  bool has_begun_ = false;
};

}  // namespace kymo::exchange
