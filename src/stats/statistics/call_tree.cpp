// The call tree.
#include "stats/statistics/call_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "capture/summary/scope_matcher.hpp"
#include "stats/common/fiber_runs.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/common/site_rows.hpp"
#include "timeline/open_tracks.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

namespace {

/// Counts scopes by their path. Not thread-safe. Memory: up to `most_paths` nodes of 36 bytes, as many again for paths
/// above the limit, and 24 to 48 bytes of hash table for each.
class PathTable {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId root = 0;
  /// The site of nodes that stand for all further paths below their parent.
  static constexpr SiteId other_paths{0};

  /// Properties of a path besides its sums.
  struct Node {
    NodeId parent = root;
    SiteId site;
    std::uint64_t open = 0;
  };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
  };

  explicit PathTable(std::size_t most_paths) : most_paths_(most_paths) {}

  /// The child node of a site in a node. A node of other paths has only itself as a child.
  NodeId child(NodeId parent, SiteId site) {
    if (is_full() && is_other(parent)) {
      return parent;
    }
    std::size_t at = place_of(parent, site);
    for (;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.node == 0) {
        return add(parent, site, at);
      }
      if (slot.site == site && slot.parent == parent) [[likely]] {
        return slot.node;
      }
    }
  }
  [[nodiscard]] bool is_other(NodeId node) const { return others_[node] == node && node != root; }

  /// Counts a scope with its duration.
  void count(NodeId node, std::uint64_t duration_ns, bool is_open = false) {
    Sum& sum = sums_[node];
    ++sum.count;
    sum.total_ns += duration_ns;
    if (is_open) [[unlikely]] {
      ++nodes_[node].open;
    }
  }
  /// Counts a scope nested in others of the same node of other paths; its time is part of theirs.
  void count_inner(NodeId node) { ++sums_[node].count; }

  /// Node 0 is the root; every other node comes after its parent.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// By node.
  [[nodiscard]] const std::vector<Sum>& sums() const { return sums_; }
  [[nodiscard]] bool is_full() const { return paths_ >= most_paths_; }

 private:
  struct Slot {
    NodeId node = 0;
    NodeId parent = 0;
    SiteId site;
  };

  [[nodiscard]] std::size_t place_of(NodeId parent, SiteId site) const {
    const std::uint64_t key = (std::uint64_t{parent} << 32U | site.value()) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(key >> 32U) & mask_;
  }
  NodeId add_node(NodeId parent, SiteId site) {
    nodes_.push_back({parent, site, 0});
    sums_.emplace_back();
    others_.push_back(0);
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  [[gnu::noinline]] NodeId add(NodeId parent, SiteId site, std::size_t at) {
    if (is_full()) {
      if (others_[parent] == 0) {
        const NodeId node = add_node(parent, other_paths);
        others_[node] = node;
        others_[parent] = node;
      }
      return others_[parent];
    }
    ++paths_;
    const NodeId node = add_node(parent, site);
    slots_[at] = {node, parent, site};
    if (2 * paths_ > slots_.size()) {
      grow();
    }
    return node;
  }

  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(2 * old.size(), {});
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.node != 0) {
        std::size_t at = place_of(slot.parent, slot.site);
        while (slots_[at].node != 0) {
          at = (at + 1) & mask_;
        }
        slots_[at] = slot;
      }
    }
  }

  std::size_t most_paths_;
  std::size_t paths_ = 0;
  // By node. Data used for every scope is kept together.
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<Sum> sums_ = std::vector<Sum>(1);
  std::vector<NodeId> others_ =
      std::vector<NodeId>(1);  // its node for further paths, 0: none yet; such a node refers to itself
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t mask_ = 1023;
};

using NodeId = PathTable::NodeId;

std::uint64_t elapsed_ns(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns <= start_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
}

/// The open scopes of one track and the known part of their path. Scopes get their nodes when they, or a scope nested
/// in them, end.
class TrackPath {
 public:
  void take(const ScopeRun& run, std::int64_t batch_start_ns, PathTable& paths) {
    leave_lost(run, paths);
    stack_.begin(run, batch_start_ns);
    stack_.take(run, 0, run.events.size(), [this, &paths](const capture::ScopeSpan& span) {
      const std::size_t depth = span.depth;
      find_nodes(depth + 1, paths);
      found_ = depth;
      count(paths, depth, static_cast<std::uint64_t>(span.duration_ns), false);
    });
    if (!run.events.empty()) {
      last_ns_ = std::max(last_ns_, run.events.back().time_ns);
    }
  }

  [[nodiscard]] bool has_events() const { return last_ns_ != std::numeric_limits<std::int64_t>::min(); }

  /// Counts the open scopes down to a depth, up to a time.
  void leave(std::size_t depth, std::int64_t time_ns, PathTable& paths) {
    find_nodes(stack_.depth(), paths);
    for (std::size_t i = stack_.depth(); i > depth; --i) {
      count(paths, i - 1, elapsed_ns(stack_[i - 1].start_ns, time_ns), true);
    }
    found_ = std::min(found_, depth);
  }

 private:
  void find_nodes(std::size_t depth, PathTable& paths) {
    if (nodes_.size() < depth) {
      nodes_.resize(2 * depth);
    }
    for (; found_ < depth; ++found_) {
      const NodeId parent = found_ == 0 ? PathTable::root : nodes_[found_ - 1];
      nodes_[found_] = paths.child(parent, stack_[found_].site);
    }
  }

  void count(PathTable& paths, std::size_t depth, std::uint64_t duration_ns, bool is_open) {
    const NodeId node = nodes_[depth];
    if (depth != 0 && nodes_[depth - 1] == node) {
      paths.count_inner(node);
    } else {
      paths.count(node, duration_ns, is_open);
    }
  }

  /// Ends scopes that are missing from the run: their ends were lost.
  void leave_lost(const ScopeRun& run, PathTable& paths) {
    if (const std::size_t kept = stack_.count_kept(run); kept < stack_.depth()) {
      leave(kept, last_ns_, paths);
    }
  }

  capture::ScopeStack stack_;
  std::vector<NodeId> nodes_ = std::vector<NodeId>(64);  // of the open scopes
  std::size_t found_ = 0;                                // number of known nodes
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

class TreeGathering {
 public:
  TreeGathering(const Timeline& timeline, const CallTreeOptions& options)
      : timeline_(timeline), options_(options), rows_(timeline, options.by_process), fibers_(timeline) {}

  CallTree run() {
    const auto sources = timeline::sources_of(timeline_);
    for (const auto& source : sources) {
      blocks_in_all_ += source->block_count();
    }
    for (const auto& source : sources) {
      PathTable paths(options_.most_paths);
      read(*source, paths);
      join(*source, paths);
    }
    put();
    return std::move(result_);
  }

 private:
  void read(const timeline::Source& source, PathTable& paths) {
    std::unordered_map<TrackId, TrackPath> tracks;
    BatchCut cut(timeline_, source, options_.selection);
    timeline::OpenTracks open;
    EventBatch batch;
    for (std::size_t block = 0; block < source.block_count(); ++block, ++blocks_done_) {
      if (!cut.needs(block)) {
        continue;
      }
      if (!source.read_own(block, BatchParts::scopes, batch)) {
        ++result_.blocks_damaged;
        continue;
      }
      open.end_lost(batch);
      cut.cut(batch);
      for (const ScopeRun& run : batch.runs) {
        tracks[run.track].take(run, batch.start_ns, paths);
      }
      if (options_.on_progress) {
        options_.on_progress(static_cast<double>(blocks_done_) / static_cast<double>(blocks_in_all_));
      }
    }
    cut.close_open(batch);
    for (const ScopeRun& run : batch.runs) {
      tracks[run.track].take(run, batch.start_ns, paths);
    }
    for (auto& [id, track] : tracks) {
      track.leave(0, nanoseconds_between(source.shift().offset_ns, source.end_ns_of(source.find(id))), paths);
      if (track.has_events()) {
        fibers_.add_track(source.find(id));
      }
    }
  }

  /// A path in the rows of sites of all captures.
  struct Joined {
    std::uint32_t row = 0;
    std::uint32_t parent = 0;
    std::uint64_t count = 0;
    std::uint64_t open = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t inner_ns = 0;  // totals of the children
    std::vector<std::uint32_t> inside;
  };

  static constexpr std::uint32_t other_row = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t joined_at(std::uint32_t parent, std::uint32_t row) {
    const auto [place, is_new] = joined_places_.try_emplace({parent, row}, static_cast<std::uint32_t>(joined_.size()));
    if (is_new) {
      joined_.push_back({row, parent, 0, 0, 0, 0, {}});
      joined_[parent].inside.push_back(place->second);
    }
    return place->second;
  }

  /// Adds the paths of one capture to the joined paths, with rows for sites.
  void join(const timeline::Source& source, const PathTable& paths) {
    const auto& nodes = paths.nodes();
    std::vector<std::uint32_t> place(nodes.size(), outside);
    place[PathTable::root] = options_.selection.chooses_sites() ? outside : 0;
    const std::vector<std::uint64_t> on_fibers = time_on_fibers(source, paths);
    for (NodeId node = 1; node < nodes.size(); ++node) {
      const PathTable::Node& from = nodes[node];
      const PathTable::Sum& sum = paths.sums()[node];
      std::uint32_t parent = place[from.parent];
      std::uint32_t row = other_row;
      if (from.site != PathTable::other_paths) {
        const SiteId site = source.find(from.site);
        if (is_on_fiber(site)) {
          place[node] = outside;
          continue;
        }
        if (parent == outside && options_.selection.takes_site(timeline_.site(site).name)) {
          parent = 0;
        }
        row = rows_.row_of(site);
      } else {
        result_.folded_scopes += sum.count;
      }
      if (parent == outside) {
        continue;
      }
      place[node] = joined_at(parent, row);
      Joined& to = joined_[place[node]];
      to.count += sum.count;
      to.open += from.open;
      const std::uint64_t total_ns = sum.total_ns - std::min(sum.total_ns, on_fibers[node]);
      to.total_ns += total_ns;
      joined_[parent].inner_ns += total_ns;
    }
  }

  /// A run of a fiber that its track counts, unless it was chosen by name.
  [[nodiscard]] bool is_on_fiber(SiteId site) const {
    return fibers_.is_on_fiber(site) &&
           !(options_.selection.chooses_sites() && options_.selection.takes_site(timeline_.site(site).name));
  }

  /// By node: the time of the runs of fibers inside it that the fibers' own tracks count.
  [[nodiscard]] std::vector<std::uint64_t> time_on_fibers(const timeline::Source& source,
                                                          const PathTable& paths) const {
    const auto& nodes = paths.nodes();
    std::vector<std::uint64_t> inside(nodes.size());
    for (std::size_t node = nodes.size() - 1; node > 0; --node) {
      const PathTable::Node& at = nodes[node];
      if (at.site != PathTable::other_paths && is_on_fiber(source.find(at.site))) {
        inside[node] = paths.sums()[node].total_ns;
      }
      inside[at.parent] += inside[node];
    }
    return inside;
  }

  void put() {
    result_.total_ns = joined_.front().inner_ns;
    for (Joined& entry : joined_) {
      std::stable_sort(entry.inside.begin(), entry.inside.end(),
                       [this](std::uint32_t a, std::uint32_t b) { return joined_[a].total_ns > joined_[b].total_ns; });
    }
    struct Step {
      std::uint32_t joined = 0;
      std::size_t next = 0;  // next child
      std::uint32_t row = 0;
    };
    std::vector<Step> path{{0, 0, 0}};
    std::unordered_map<std::uint32_t, SiteSum> sums;
    while (!path.empty()) {
      Step& step = path.back();
      const Joined& at = joined_[step.joined];
      if (step.next == at.inside.size()) {
        if (path.size() > 1) {
          --sums[at.row].depth;
        }
        path.pop_back();
        continue;
      }
      const std::uint32_t next = at.inside[step.next++];
      const auto index = static_cast<std::uint32_t>(result_.rows.size());
      put_row(joined_[next], path.size() == 1 ? index : step.row, static_cast<std::uint32_t>(path.size() - 1));
      SiteSum& sum = sums[joined_[next].row];
      sum.sum.count += joined_[next].count;
      sum.sum.inclusive_ns += sum.depth++ == 0 ? joined_[next].total_ns : 0;
      sum.sum.self_ns += result_.rows.back().self_ns;
      sum.sum.site = result_.rows.back().site;
      path.push_back({next, 0, index});
    }
    for (const auto& entry : sums) {
      result_.sites.push_back(entry.second.sum);
    }
    std::sort(result_.sites.begin(), result_.sites.end(), [](const CallTreeSite& a, const CallTreeSite& b) {
      return a.inclusive_ns != b.inclusive_ns ? a.inclusive_ns > b.inclusive_ns : a.site < b.site;
    });
  }

  void put_row(const Joined& entry, std::uint32_t parent, std::uint32_t depth) {
    CallTreeRow row;
    row.site = entry.row == other_row ? SiteId{} : rows_.rows()[entry.row].site;
    row.parent = parent;
    row.depth = depth;
    row.count = entry.count;
    row.open = entry.open;
    row.total_ns = entry.total_ns;
    row.self_ns = entry.total_ns > entry.inner_ns ? entry.total_ns - entry.inner_ns : 0;
    result_.rows.push_back(row);
  }

  struct SiteSum {
    CallTreeSite sum;
    std::size_t depth = 0;  // how often it occurs in the path
  };

  const Timeline& timeline_;
  const CallTreeOptions& options_;
  SiteRows rows_;
  FiberRuns fibers_;
  std::vector<Joined> joined_ = std::vector<Joined>(1);  // the root first
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> joined_places_;
  CallTree result_;
  std::size_t blocks_in_all_ = 0;
  std::size_t blocks_done_ = 0;
};

}  // namespace

CallTree gather_call_tree(const Timeline& timeline, const CallTreeOptions& options) {
  return TreeGathering(timeline, options).run();
}

}  // namespace kymo::stats
