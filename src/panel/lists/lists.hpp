// What the tabs list: frames, the spans of a site, and messages of a range. Gathered in the background; what is known
// so far is shown.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/ids.hpp>

#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::panel {

/// The whole frames of a stream in a range.
struct FrameList {
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
  struct Row {
    std::int64_t time_ns = 0;
    TrackId track = 0;
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
  struct Node {
    SiteId site = 0;
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

/// The samples of all metrics in a range.
struct MetricList {
  struct Row {
    MetricId metric = 0;
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
  struct Row {
    SiteId site = 0;
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
  };

  std::vector<Row> rows;  ///< by falling total
};

/// The spans that hold a text: in an argument, its name included, or in the name of a named span.
struct FoundList {
  struct Row {
    SpanKey key;
    NameId name = 0;    ///< of the argument; 0: the span's own name holds the text
    std::string value;  ///< of the argument
  };
  static constexpr std::size_t most_rows = 1000;

  std::vector<Row> first;  ///< by ascending start
  std::uint64_t count = 0;
};

/// What a list covers.
struct ListKey {
  TimeRange range;
  std::uint32_t id;     ///< the stream, the site, or the track
  LengthRange lengths;  ///< of the frames or spans to list
  std::uint16_t depth;  ///< of the scopes to list, for InnerList
  std::string text;     ///< to search for, for FoundList; none is found in an empty one

  explicit ListKey(TimeRange covered = {}, std::uint32_t of = 0, LengthRange within = {}, std::uint16_t at_depth = 0,
                   std::string holding = {})
      : range(covered), id(of), lengths(within), depth(at_depth), text(std::move(holding)) {}

  [[nodiscard]] bool operator==(const ListKey& other) const {
    return range.start_ns == other.range.start_ns && range.end_ns == other.range.end_ns && id == other.id &&
           lengths == other.lengths && depth == other.depth && text == other.text;
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

 private:
  using Clock = std::chrono::steady_clock;

  ListKey key_;
  List list_;
  std::uint64_t version_ = 0;
  std::uint64_t reading_ = 0;  // number of the present reading; 0: none
  std::uint64_t readings_ = 0;
  std::uint64_t data_version_ = 0;
  Clock::time_point started_{};
  Clock::time_point renews_at_{};
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace kymo::panel
