#include "exchange/tables/collapsed_stacks.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/json_text.hpp"
#include "base/text/plain_text.hpp"
#include "capture/summary/scope_walk.hpp"
#include "exchange/common/timeline_batches.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/fiber_runs.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {
namespace {

/// Makes a text usable as part of a line: replaces characters that end a part or a line.
std::string part_of(std::string_view text) {
  std::string part;
  base::append_plain_text(part, text.empty() ? "(unnamed)" : text, "\t\r\n");
  for (char& character : part) {
    if (character == ';') {
      character = ':';
    } else if (static_cast<unsigned char>(character) < 0x20) {
      character = ' ';
    }
  }
  return part;
}

/// Adds up the self time of every distinct stack. Runs of fibers that have scopes are left out of their threads'
/// stacks: the fibers' own stacks have that time.
class CollapsedStacks {
 public:
  explicit CollapsedStacks(const Timeline& timeline)
      : timeline_(timeline), threads_(timeline), sampled_(timeline), fibers_(timeline) {}

  void add(const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      Track& known = track(run.track);
      Visitor visitor{*this, known};
      known.scopes.take(run, visitor);
      if (!run.events.empty()) {
        fibers_.add_track(run.track);
      }
    }
  }

  /// The batch's samples of stacks instead of its scopes, or its waits in ns.
  void add_samples(const EventBatch& batch, bool are_waits) {
    for (const StackSample& sample : batch.stack_samples) {
      if (sample.is_wait() == are_waits) {
        nodes_[node_of(sample.thread, sampled_.index_of(sample.stack))].self += are_waits ? sample.waited_ns() : 1;
      }
    }
  }

  /// Ends the open scopes at this time and completes the sums.
  void finish(std::int64_t end_ns) {
    for (auto& entry : tracks_) {
      Visitor visitor{*this, entry.second};
      entry.second.scopes.finish(end_ns, visitor);
    }
    for (const auto& [place, self_ns] : fiber_runs_ns_) {
      nodes_[place.first].self += fibers_.is_on_fiber(place.second) ? 0 : self_ns;
    }
  }

  /// Writes a line for each stack with time, in byte order. Does not close the file.
  void write(base::OutputFile& file) const {
    std::vector<std::pair<std::string, std::uint64_t>> lines;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
      if (nodes_[node].self > 0) {
        lines.emplace_back(stack_of(node), nodes_[node].self);
      }
    }
    std::sort(lines.begin(), lines.end());
    for (const auto& [stack, self] : lines) {
      std::string& out = file.buffer();
      out += stack;
      out += ' ';
      base::append_json_integer(out, self);
      out += '\n';
      file.spill();
    }
  }

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

  struct Visitor {
    CollapsedStacks& stacks;
    Track& track;

    void reach(std::size_t /*position*/, const ScopeEvent& /*event*/) {}
    void begin(const OpenScope& scope, std::size_t depth) {
      const std::uint32_t parent = depth == 0 ? track.root : track.levels[depth - 1].node;
      track.levels.resize(depth);
      track.levels.push_back({stacks.child(parent, stacks.frame_of_site(scope.site)), 0});
    }
    void end(const OpenScope& scope, std::size_t depth, std::int64_t end_ns, capture::ScopeEnding /*how*/) {
      // Unsigned arithmetic: times of damaged captures may be any distance apart.
      const std::uint64_t elapsed = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(scope.start_ns);
      const Level level = track.levels[depth];
      stacks.count(level.node, scope.site, elapsed - std::min(elapsed, level.inner_ns));
      if (depth > 0) {
        track.levels[depth - 1].inner_ns += elapsed;
      }
    }
  };

  void count(std::uint32_t node, SiteId site, std::uint64_t self_ns) {
    if (timeline_.site(site).role == SiteRole::fiber_run) {
      fiber_runs_ns_[{node, site}] += self_ns;
    } else {
      nodes_[node].self += self_ns;
    }
  }

  [[nodiscard]] Track& track(TrackId id) {
    const auto [place, is_new] = tracks_.try_emplace(id);
    if (is_new) {
      const TrackDeclaration& declaration = timeline_.track(id);
      std::uint32_t parent = 0;
      if (timeline_.processes().size() > 1) {
        const ProcessDeclaration& process = timeline_.process(declaration.process).declaration;
        std::string name = "process " + std::to_string(process.pid);
        name += process.rank.empty() ? "" : " rank " + process.rank;
        name += process.host.empty() ? "" : " on " + process.host;
        parent = child(parent, frame_of(name));
      }
      const std::string& name = declaration.name;
      place->second.root =
          child(parent, frame_of(name.empty() ? "thread " + std::to_string(declaration.os_thread_id) : name));
    }
    return place->second;
  }

  [[nodiscard]] std::uint32_t node_of(ThreadId thread, std::uint32_t stack) {
    const auto [place, is_new] = sampled_nodes_.try_emplace((std::uint64_t{thread.value()} << 32U) | stack, 0);
    if (is_new) {
      std::vector<FunctionId> path;  // innermost first
      for (; stack != 0 && path.size() < most_functions_of_stack; stack = sampled_.caller_of(stack)) {
        path.push_back(sampled_.function_of(stack));
      }
      std::uint32_t node = child(0, frame_of(threads_.name_of(thread)));
      for (auto function = path.rbegin(); function != path.rend(); ++function) {
        node = child(node, frame_of_function(*function));
      }
      place->second = node;
    }
    return place->second;
  }

  [[nodiscard]] FrameId frame_of_site(SiteId site) {
    const auto [place, is_new] = site_frames_.try_emplace(site, 0);
    if (is_new) {
      place->second = frame_of(timeline_.site(site).name);
    }
    return place->second;
  }

  [[nodiscard]] FrameId frame_of_function(FunctionId function) {
    const auto [place, is_new] = function_frames_.try_emplace(function, 0);
    if (is_new) {
      place->second = frame_of(sampled_.name_of(function));
    }
    return place->second;
  }

  [[nodiscard]] FrameId frame_of(std::string_view text) {
    const auto [place, is_new] = frame_ids_.try_emplace(part_of(text), static_cast<FrameId>(frames_.size()));
    if (is_new) {
      frames_.push_back(place->first);
    }
    return place->second;
  }

  [[nodiscard]] std::uint32_t child(std::uint32_t parent, FrameId frame) {
    const auto [place, is_new] = children_.try_emplace((std::uint64_t{parent} << 32U) | frame, 0);
    if (is_new) {
      place->second = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({parent, frame, 0});
    }
    return place->second;
  }

  [[nodiscard]] std::string stack_of(std::uint32_t node) const {
    std::vector<FrameId> parts;
    for (; node != 0; node = nodes_[node].parent) {
      parts.push_back(nodes_[node].frame);
    }
    std::string stack;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      stack += stack.empty() ? "" : ";";
      stack += frames_[*part];
    }
    return stack;
  }

  const Timeline& timeline_;
  SampledThreads threads_;
  std::vector<Node> nodes_{Node{}};                            ///< 0: the root of all stacks
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  ///< by parent and frame
  std::vector<std::string> frames_;
  std::map<std::string, FrameId> frame_ids_;
  std::unordered_map<SiteId, FrameId> site_frames_;
  std::unordered_map<FunctionId, FrameId> function_frames_;
  std::map<TrackId, Track> tracks_;
  stats::StackTree sampled_;
  std::unordered_map<std::uint64_t, std::uint32_t> sampled_nodes_;  ///< by thread and stack
  stats::FiberRuns fibers_;
  std::map<std::pair<std::uint32_t, SiteId>, std::uint64_t> fiber_runs_ns_;  ///< by node and site
};

}  // namespace

std::vector<std::string> write_collapsed_stacks(const Timeline& timeline, base::OutputFile file,
                                                const ExportRequest& request) {
  const Declarations& declared = timeline.declarations();
  const bool wants_scopes = request.stacks == StacksOf::scopes;
  if (!wants_scopes) {
    require_samples(timeline);
  }
  const bool is_of_samples = !declared.stacks.empty() && (!wants_scopes || declared.sites.empty());
  CollapsedStacks stacks(timeline);
  const BatchParts parts = is_of_samples ? BatchParts::stacks : BatchParts::scopes;
  visit_batches(timeline, parts, request.on_progress, [&](const EventBatch& batch, std::size_t /*capture*/) {
    is_of_samples ? stacks.add_samples(batch, request.stacks == StacksOf::waits) : stacks.add(batch);
  });
  stacks.finish(timeline.range().end_ns);
  stacks.write(file);
  file.close();
  return {};
}

}  // namespace kymo::exchange
