// Stacks in the format of flame-graph tools: of scopes with the time spent in each, `thread;outer;inner <nanoseconds>`,
// or sampled ones with their number, `thread;outer;inner <samples>`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/summary/scope_walk.hpp"
#include "exchange/common/exporter.hpp"
#include "stats/common/fiber_runs.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {

/// Adds up the self time of every distinct stack. Runs of fibers that have scopes are left out of their threads'
/// stacks: the fibers' own stacks have that time. Holds about 100 bytes per stack and the open scopes. About 20 ns per
/// scope.
class CollapsedStacks {
 public:
  explicit CollapsedStacks(const Timeline& timeline) : timeline_(timeline), sampled_(timeline), fibers_(timeline) {}

  void add(const EventBatch& batch);
  /// The batch's samples of stacks instead of its scopes, or its waits in ns.
  void add_samples(const EventBatch& batch, bool are_waits);
  /// Ends the open scopes at this time and completes the sums.
  void finish(std::int64_t end_ns);

  /// Writes a line for each stack with time, in byte order. Does not close the file.
  void write(base::OutputFile& file) const;

 private:
  using FrameId = std::uint32_t;
  struct Node {
    std::uint32_t parent = 0;
    FrameId frame = 0;
    std::uint64_t self = 0;  ///< ns or samples
  };
  struct Level {
    std::uint32_t node = 0;
    std::uint64_t inner_ns = 0;
  };
  struct Track {
    std::uint32_t root = 0;
    capture::ScopeWalk scopes;
    std::vector<Level> levels;
  };
  class Visitor;

  [[nodiscard]] Track& track(TrackId id);
  [[nodiscard]] std::uint32_t node_of(ThreadId thread, std::uint32_t stack);
  [[nodiscard]] FrameId frame_of_site(SiteId site);
  void count(std::uint32_t node, SiteId site, std::uint64_t self_ns);
  [[nodiscard]] FrameId frame_of_function(FunctionId function);
  [[nodiscard]] FrameId frame_of_thread(const std::string& name, std::uint64_t os_thread_id);
  [[nodiscard]] FrameId frame_of(std::string_view text);
  [[nodiscard]] std::uint32_t child(std::uint32_t parent, FrameId frame);
  [[nodiscard]] std::string stack_of(std::uint32_t node) const;

  const Timeline& timeline_;
  std::vector<Node> nodes_{Node{}};                            ///< 0: the root of all stacks
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  ///< by parent and frame
  std::vector<std::string> frames_;
  std::map<std::string, FrameId, std::less<>> frame_ids_;
  std::unordered_map<SiteId, FrameId> site_frames_;
  std::unordered_map<FunctionId, FrameId> function_frames_;
  std::map<TrackId, Track> tracks_;
  stats::StackTree sampled_;
  std::unordered_map<std::uint64_t, std::uint32_t> sampled_nodes_;  ///< by thread and stack
  stats::FiberRuns fibers_;
  std::map<std::pair<std::uint32_t, SiteId>, std::uint64_t> fiber_runs_ns_;  ///< by node and site
};

ExportWriter write_collapsed_stacks;

}  // namespace kymo::exchange
