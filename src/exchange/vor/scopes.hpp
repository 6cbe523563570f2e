// Turns the flame parts of a .vor stream into scope events on tracks, for imports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "exchange/vor/flame.hpp"

namespace kymo::exchange {

/// Numbers of parts that were left out, by reason.
struct FlameDamage {
  std::uint64_t parts = 0;       ///< flame parts that cannot be read completely
  std::uint64_t threads = 0;     ///< damaged streams; scopes before the damage are kept
  std::uint64_t times_back = 0;  ///< scopes that begin before their predecessor, with their content
  std::uint64_t ends_moved = 0;  ///< scopes that end before their content; they are extended to its end
  std::uint64_t no_room = 0;     ///< scopes deeper than 65535, or of threads or names beyond the limit
};

/// Turns flame parts into runs, one after another. Joins the halves of scopes that an export cut at frame marks.
class FlameEvents {
 public:
  /// If a part has more than a million events, calls on_full in between, which has to fetch them with move_into().
  explicit FlameEvents(std::function<void()> on_full) : on_full_(std::move(on_full)) {}

  /// Reads a part unless it repeats that of the previous frame.
  void take(std::span<const std::byte> part);
  /// Closes the scopes that wait for their other half.
  void finish();

  /// Events since the last move_into().
  [[nodiscard]] std::size_t pending() const { return pending_; }
  /// Moves runs and declarations into a batch and widens its times.
  void move_into(EventBatch& batch);

  [[nodiscard]] std::uint64_t scopes() const { return scopes_; }
  [[nodiscard]] const FlameDamage& damage() const { return damage_; }

 private:
  /// An open scope. If its end is the end of its frame, it waits for its other half in the next.
  struct Level {
    SiteId site;
    std::int64_t start_ns = 0;
  };
  struct Track {
    TrackId id;
    std::vector<Level> levels;
    std::size_t live = 0;  ///< levels beyond these have closed at held_ns
    std::int64_t held_ns = 0;
    bool is_waiting = false;  ///< listed in waiting_
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    std::uint64_t sequence = 0;
    ScopeRun run;
    std::vector<OpenScope> open_at_start;
  };
  using ThreadKey = std::pair<std::optional<std::int64_t>, std::string>;

  void take_site(const FlameSite& site);
  void take_thread(const FlameThread& thread);
  [[nodiscard]] Track* find_track(const FlameThread& thread);
  /// The site of an id; 0 if no room is left for another.
  [[nodiscard]] SiteId find_site(std::uint32_t id);
  [[nodiscard]] SiteId declare_site(SiteDeclaration site);
  [[nodiscard]] bool has_room(std::size_t bytes);

  /// Returns false if it makes no sense here; its content is to be skipped.
  [[nodiscard]] bool open(Track& track, const FlameCursor& cursor);
  void close(Track& track, std::int64_t time_ns);
  /// Ends the closed scopes that wait for their other half.
  void close_held(Track& track);
  void emit(Track& track, std::int64_t time_ns, SiteId site);
  void add_text(Track& track, std::string_view text);

  std::function<void()> on_full_;
  FlameReader reader_;
  FlameMeta meta_;
  bool has_meta_ = false;
  std::map<ThreadKey, Track> tracks_;
  std::vector<Track*> waiting_;  // tracks with levels that closed at the end of a frame
  std::unordered_map<std::uint32_t, SiteId> site_ids_;
  std::unordered_map<std::string, SiteId> sites_;
  std::size_t name_bytes_ = 0;
  Declarations declarations_;
  std::string text_;
  NameId text_name_;
  std::size_t pending_ = 0;
  std::uint64_t scopes_ = 0;
  std::int64_t start_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
  FlameDamage damage_;
};

/// Limit of the times of scopes: differences of any two fit.
inline constexpr std::int64_t most_vor_ns = 4'000'000'000'000'000'000;

}  // namespace kymo::exchange
