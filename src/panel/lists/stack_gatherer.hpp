// Gathers the functions on sampled stacks, block by block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/lists.hpp"
#include "panel/lists/runs_until.hpp"
#include "stats/common/stack_tree.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo::panel {

/// Makes the nodes of stacks, callers first. Functions of one name in one file are one.
class StackNodes {
 public:
  StackNodes(const Declarations& declared, StackList& list) : tree_(declared), list_(list) {
    list_.nodes.emplace_back();
  }

  void add(StackId stack, std::uint64_t samples, std::uint64_t blocked_ns) {
    StackList::Node& node = node_of(stack);
    node.self += samples;
    node.self_blocked_ns += blocked_ns;
    StackList::Line& sum = sums_[tree_.index_of(stack)];
    sum.samples += samples;
    sum.blocked_ns += blocked_ns;
  }

  void finish() {
    for (std::size_t i = list_.nodes.size(); i-- > 1;) {
      StackList::Node& node = list_.nodes[i];
      node.total += node.self;
      node.total_blocked_ns += node.self_blocked_ns;
      list_.nodes[node.parent].total += node.total;
      list_.nodes[node.parent].total_blocked_ns += node.total_blocked_ns;
    }
    gather_lines();
  }

 private:
  StackList::Node& node_of(StackId stack) {
    path_.clear();
    std::uint32_t at = tree_.index_of(stack);
    while (at != 0 && nodes_.count(at) == 0) {
      path_.push_back(at);
      at = tree_.caller_of(at);
    }
    std::uint32_t node = at == 0 ? 0 : nodes_[at];
    for (; !path_.empty(); path_.pop_back()) {
      node = child_of(node, name_of(tree_.function_of(path_.back())));
      nodes_[path_.back()] = node;
    }
    if (tree_.index_of(stack) == 0) {
      node = child_of(0, name_of(FunctionId{}));  // a stack that could not be read
    }
    return list_.nodes[node];
  }

  void gather_lines() {
    std::vector<std::uint32_t> stacks;
    stacks.reserve(nodes_.size());
    for (const auto& [stack, node] : nodes_) {
      stacks.push_back(stack);
    }
    std::sort(stacks.begin(), stacks.end(), std::greater<>());  // callers come after what they called
    std::map<std::pair<std::uint32_t, std::uint32_t>, StackList::Line> lines;
    for (const std::uint32_t stack : stacks) {
      const StackList::Line sum = sums_[stack];
      const auto add_to = [&sum](StackList::Line& to) {
        to.samples += sum.samples;
        to.blocked_ns += sum.blocked_ns;
      };
      add_to(sums_[tree_.caller_of(stack)]);
      const std::uint32_t node = nodes_[stack];
      const std::uint32_t line = tree_.line_of(stack);
      // A path that is too far down counts as its caller's.
      if (line != 0 && list_.nodes[node].function == name_of(tree_.function_of(stack))) {
        StackList::Line& one = lines.try_emplace({node, line}, StackList::Line{node, line, 0, 0}).first->second;
        add_to(one);
      }
    }
    for (const auto& [place, line] : lines) {
      list_.lines.push_back(line);
    }
  }

  FunctionId name_of(FunctionId function) {
    const auto [same, is_new] = list_.same_names.try_emplace(function, function);
    if (is_new) {
      same->second = names_.try_emplace({tree_.module_of(function), tree_.name_of(function)}, function).first->second;
    }
    return same->second;
  }

  std::uint32_t child_of(std::uint32_t parent, FunctionId function) {
    const auto [known, is_new] = children_.try_emplace({parent, function}, parent);
    if (is_new && list_.nodes.size() < StackList::most_nodes) {
      known->second = static_cast<std::uint32_t>(list_.nodes.size());
      const auto depth = static_cast<std::uint16_t>(parent == 0 ? 0 : list_.nodes[parent].depth + 1);
      list_.nodes.push_back({function, parent, depth, 0, 0, 0, 0});
    }
    return known->second;
  }

  stats::StackTree tree_;
  StackList& list_;
  std::unordered_map<std::uint32_t, std::uint32_t> nodes_;   // by stack
  std::unordered_map<std::uint32_t, StackList::Line> sums_;  // by stack: found in it
  std::map<std::pair<std::uint32_t, FunctionId>, std::uint32_t> children_;
  std::map<std::pair<std::string, std::string>, FunctionId> names_;
  std::vector<std::uint32_t> path_;
};

/// take() is for the worker's thread; the others for the drawing thread, while nothing is taken. Takes 32 bytes a
/// stack, and inside a site 32 a sample and 16 a scope, up to a bound.
class StackList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& provider)
      : key_(key), provider_(provider), last_ns_(least_end_ns(key.range, provider)) {}

  [[nodiscard]] BlockScan scan() const {
    return {key_.range, key_.id != 0 ? BatchParts::everything : BatchParts::stacks, std::nullopt, {}, {}};
  }

  void take(const EventBatch& batch, const ScannedBlock& block) {
    last_ns_ = std::max(last_ns_, batch.end_ns);
    for (const StackSample& sample : batch.stack_samples) {
      if (!key_.holds(sample.time_ns)) {
        continue;
      }
      if (key_.id == 0) {
        count(sample, counts_);
      } else if (kept_ < most_samples) {
        samples_[sample.thread].push_back(sample);
        ++kept_;
      }
    }
    if (key_.id == 0) {
      return;
    }
    runs_.take(batch, block, [this](const ScopeRun& run) {
      SiteTimes& scopes = scopes_[run.track];
      scopes.add_closed(run, SiteId{key_.id}, stacks_[run.track]);
      if (scopes.ranges.size() > 2 * SiteTimes::most) {
        scopes.join();
      }
    });
  }

  [[nodiscard]] StackList result() const {
    StackList list;
    const Counts counts = key_.id != 0 ? counts_inside(list) : counts_;
    StackNodes maker(provider_.declarations(), list);
    for (const auto& [stack, sums] : std::map<StackId, Count>(counts.begin(), counts.end())) {
      maker.add(stack, sums.samples, sums.blocked_ns);
    }
    maker.finish();
    return list;
  }

 private:
  struct Count {
    std::uint64_t samples = 0;
    std::uint64_t blocked_ns = 0;
  };
  using Counts = std::unordered_map<StackId, Count>;

  static void count(const StackSample& sample, Counts& counts) {
    Count& one = counts[sample.stack];
    one.samples += sample.is_wait() ? 0U : 1U;
    one.blocked_ns += sample.waited_ns();
  }

  /// The samples inside scopes of the site.
  [[nodiscard]] Counts counts_inside(StackList& list) const {
    std::unordered_map<TrackId, SiteTimes> scopes = scopes_;
    list.is_cut = kept_ == StackList::most_samples;
    for (const auto& [track, stack] : stacks_) {
      scopes[track].add_open(stack, SiteId{key_.id}, last_ns_);
    }
    Counts counts;
    for (const auto& [track, threads] : timeline::threads_of_tracks(provider_.declarations())) {
      SiteTimes& times = scopes[track];
      times.join();
      list.is_cut = list.is_cut || times.end_ns != std::numeric_limits<std::int64_t>::max();
      for (const ThreadId thread : threads) {
        const auto samples = samples_.find(thread);
        if (samples != samples_.end()) {
          for (const StackSample& sample : samples->second) {
            if (times.hold(sample.time_ns)) {
              count(sample, counts);
            }
          }
        }
      }
    }
    return counts;
  }

  ListKey key_;
  const BlockProvider& provider_;
  Counts counts_;  // of all, without a site
  std::unordered_map<ThreadId, std::vector<StackSample>> samples_;
  std::size_t kept_ = 0;
  std::unordered_map<TrackId, capture::ScopeStack> stacks_;
  RunsUntil runs_;
  std::unordered_map<TrackId, SiteTimes> scopes_;
  std::int64_t last_ns_;
};

}  // namespace kymo::panel
