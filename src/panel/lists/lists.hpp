// What the tabs list: frames, the spans of a site, and messages of a range. Gathered in the background; what is known
// so far is shown. Each list has a Gatherer, which says what it reads by scan(), and takes it block by block.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/ids.hpp>

#include "capture/summary/scope_matcher.hpp"
#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::panel {

/// The whole frames of a stream in a range.
struct FrameList {
  class Gatherer;
  struct Row {
    Frame frame;
    FrameNumber number = 0;  ///< 0: unknown, since earlier frames are gone
  };
  static constexpr std::size_t most_rows = 1000;

  std::vector<Row> slowest;      ///< by falling duration, those of the key's lengths
  stats::SiteFigures durations;  ///< of all frames
};

/// The scopes of a site that overlap a range.
struct InstanceList {
  class Gatherer;
  struct Row {
    SpanKey key;
    std::int64_t self_ns = 0;
    bool is_open = false;  ///< its end is not known: it lasts at least this long
    bool self_is_bound = false;
  };
  static constexpr std::size_t most_rows = 1000;

  std::vector<Row> longest;  ///< by falling duration
  std::uint64_t count = 0;
};

/// The messages of a range.
struct MessageList {
  class Gatherer;
  struct Row {
    std::int64_t time_ns = 0;
    TrackId track;
    std::string text;
    bool is_cut = false;
  };
  static constexpr std::size_t most_rows = 10'000;
  static constexpr std::size_t most_bytes = 200;  ///< of a text

  std::vector<Row> first;  ///< by ascending time
  std::uint64_t count = 0;
};

/// The paths of nested scopes over all threads.
struct TreeList {
  class Gatherer;
  struct Node {
    SiteId site;
    std::uint32_t parent = 0;
    std::uint16_t depth = 0;
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t inner_ns = 0;  ///< of the total: in the nodes directly inside
  };
  /// Scopes on further paths count as their parents' own time.
  static constexpr std::size_t most_nodes = 50'000;

  /// Parents stand before what is inside. The first node has no site and is around all others.
  std::vector<Node> nodes;
};

/// The functions on the stacks that were sampled in a range, or inside scopes of a site on their own threads.
struct StackList {
  class Gatherer;
  struct Node {
    FunctionId function;  ///< one of those with this name in this file
    std::uint32_t parent = 0;
    std::uint16_t depth = 0;
    std::uint64_t self = 0;  ///< samples on the CPU that found a thread in the function itself
    std::uint64_t total = 0;
    std::uint64_t self_blocked_ns = 0;  ///< waits
    std::uint64_t total_blocked_ns = 0;
  };
  /// What a node's total has of one line: found there, or in what was called from there.
  struct Line {
    std::uint32_t node = 0;
    std::uint32_t line = 0;
    std::uint64_t samples = 0;
    std::uint64_t blocked_ns = 0;
  };
  /// Functions on further paths count as their callers' own.
  static constexpr std::size_t most_nodes = 50'000;
  /// Inside a site: samples; later ones are left out.
  static constexpr std::size_t most_samples = 2'000'000;

  /// Callers stand before what they call. The first node has no function and is around all others.
  std::vector<Node> nodes;
  std::vector<Line> lines;  ///< by node, then line; none where lines are not known
  /// Of each function that was found, the one that stands for its name.
  std::unordered_map<FunctionId, FunctionId> same_names;
  bool is_cut = false;  ///< the site has more calls, or samples, than were looked at
};

/// The completed scopes of a range or inside a site.
struct SiteList {
  class Gatherer;
  std::vector<stats::SiteFigures> sites;  ///< by falling total
};

/// The samples of all metrics in a range.
struct MetricList {
  class Gatherer;
  struct Row {
    MetricId metric;
    std::uint64_t count = 0;  ///< of samples with a value
    double min = 0;
    double max = 0;
    double mean = 0;
    double deviation = 0;  ///< the standard deviation of a sample
    double first = 0;
    double last = 0;
  };

  std::vector<Row> rows;  ///< by ascending id
};

/// The scopes directly inside one scope, by site.
struct InnerList {
  class Gatherer;
  struct Row {
    SiteId site;
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
  };

  std::vector<Row> rows;  ///< by falling total
  /// The scope's time outside of these, unless some are missing.
  std::optional<std::int64_t> self_ns;
};

/// The spans that hold a text: in an argument, its name included, or in the name of a named span.
struct FoundList {
  class Gatherer;
  struct Row {
    SpanKey key;
    NameId name;        ///< of the argument; 0: the span's own name holds the text
    std::string value;  ///< of the argument
  };
  static constexpr std::size_t most_rows = 1000;

  std::vector<Row> first;  ///< by ascending start
  std::uint64_t count = 0;
};

/// The frames of a stream and the sync points, by which two captures are aligned.
struct MarkList {
  class Gatherer;
  static constexpr std::size_t most_marks = 2'000'000;  ///< of each; later ones are left out

  std::vector<std::int64_t> frames;  ///< where frames begin, by ascending time, and where the last one ends
  std::vector<std::pair<std::uint64_t, std::int64_t>>
      sync_points;  ///< by ascending number, with the first time of each
  std::vector<std::size_t> broken_off =
      {};  ///< places in `frames`, ascending: no frame ends there, as marks may be missing before

  /// The number of the frame that begins at a place.
  [[nodiscard]] FrameNumber number_at(std::size_t place) const;
  /// Where a frame begins.
  [[nodiscard]] std::optional<std::size_t> place_of(FrameNumber number) const;
};

/// The times at which a scope of a site was open on any thread.
struct SiteTimes {
  class Gatherer;
  static constexpr std::size_t most = 250'000;  ///< ranges; later ones are left out

  std::vector<TimeRange> ranges;  ///< ascending, apart from each other; a time at an end is outside
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();  ///< from here on nothing is known

  /// Adds the scopes of a site that a run closes, and those that are open on a stack, up to the last block's end.
  void add_closed(const ScopeRun& run, SiteId site, capture::ScopeStack& stack);
  void add_open(const capture::ScopeStack& stack, SiteId site, std::int64_t last_ns);
  /// Sorts ranges that were added, and joins those that overlap.
  void join();
  [[nodiscard]] bool hold(std::int64_t time_ns) const;
  [[nodiscard]] bool overlap(TimeRange range) const;
};

/// What a list covers.
struct ListKey {
  TimeRange range;
  std::uint32_t id;     ///< the stream, the site, or the track; of a SiteList, StackList: the site around, 0 for all
  LengthRange lengths;  ///< of the frames or spans to list
  std::uint16_t depth;  ///< of the scopes to list, for InnerList
  std::string text;     ///< to search for, for FoundList; none is found in an empty one
  SiteId inside;        ///< for FrameList, MessageList and MetricList: only what is at `times`, those of this site
  std::shared_ptr<const SiteTimes> times;  ///< no other key because of them: a list that is known stays meanwhile

  explicit ListKey(TimeRange covered = {}, std::uint32_t of = 0, LengthRange within = {}, std::uint16_t at_depth = 0,
                   std::string holding = {})
      : range(covered), id(of), lengths(within), depth(at_depth), text(std::move(holding)) {}

  [[nodiscard]] bool operator==(const ListKey& other) const {
    return is_same(range, other.range) && id == other.id && lengths == other.lengths && depth == other.depth &&
           text == other.text && inside == other.inside;
  }
  [[nodiscard]] bool holds(std::int64_t time_ns) const {
    return time_ns >= range.start_ns && time_ns < range.end_ns && (times == nullptr || times->hold(time_ns));
  }
};

/// A list, kept up to date while it is asked for. List: one of those above.
template <typename List>
class KeptList {
 public:
  /// Call in each frame that shows the list. Reads it anew if the key changed, or data arrived and a while has passed:
  /// at least a second, and three times what the last reading took.
  void keep_fresh(PanelData& data, const ListKey& key);
  /// What is known so far.
  [[nodiscard]] const List& list() const { return list_; }
  /// Increases with each change.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] bool is_reading() const { return reading_ != 0; }
  /// Whether it was read to its end, though perhaps more data arrived since.
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  /// Knows nothing until it is read anew.
  void forget();

 private:
  using Clock = std::chrono::steady_clock;

  ListKey key_;
  List list_;
  std::uint64_t version_ = 0;
  std::uint64_t reading_ = 0;  // number of the present reading; 0: none
  std::uint64_t readings_ = 0;
  bool has_key_ = false;
  bool is_whole_ = false;
  std::uint64_t data_version_ = 0;
  Clock::time_point started_{};
  Clock::time_point renews_at_{};
  Clock::time_point shows_at_{};
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace kymo::panel
