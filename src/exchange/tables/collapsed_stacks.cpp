#include "exchange/tables/collapsed_stacks.hpp"

#include <algorithm>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "base/text/json_text.hpp"
#include "base/text/plain_text.hpp"

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

}  // namespace

class CollapsedStacks::Visitor {
 public:
  Visitor(CollapsedStacks& stacks, Track& track) : stacks_(stacks), track_(track) {}

  void reach(std::size_t /*position*/, const ScopeEvent& /*event*/) {}

  void begin(const OpenScope& scope, std::size_t depth) {
    const std::uint32_t parent = depth == 0 ? track_.root : track_.levels[depth - 1].node;
    track_.levels.resize(depth);
    track_.levels.push_back({stacks_.child(parent, stacks_.frame_of_site(scope.site)), 0});
  }

  void end(const OpenScope& scope, std::size_t depth, std::int64_t end_ns, capture::ScopeEnding /*how*/) {
    // Unsigned arithmetic: times of damaged captures may be any distance apart.
    const std::uint64_t elapsed = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(scope.start_ns);
    const Level level = track_.levels[depth];
    stacks_.count(level.node, scope.site, elapsed - std::min(elapsed, level.inner_ns));
    if (depth > 0) {
      track_.levels[depth - 1].inner_ns += elapsed;
    }
  }

 private:
  CollapsedStacks& stacks_;
  Track& track_;
};

void CollapsedStacks::add(const EventBatch& batch) {
  for (const ScopeRun& run : batch.runs) {
    Track& known = track(run.track);
    Visitor visitor(*this, known);
    known.scopes.take(run, visitor);
    if (!run.events.empty()) {
      fibers_.add_track(run.track);
    }
  }
}

void CollapsedStacks::finish(std::int64_t end_ns) {
  for (auto& entry : tracks_) {
    Visitor visitor(*this, entry.second);
    entry.second.scopes.finish(end_ns, visitor);
  }
  for (const auto& [place, self_ns] : fiber_runs_ns_) {
    nodes_[place.first].self += fibers_.is_on_fiber(place.second) ? 0 : self_ns;
  }
}

void CollapsedStacks::count(std::uint32_t node, SiteId site, std::uint64_t self_ns) {
  if (timeline_.site(site).role == SiteRole::fiber_run) {
    fiber_runs_ns_[{node, site}] += self_ns;
  } else {
    nodes_[node].self += self_ns;
  }
}

void CollapsedStacks::write(base::OutputFile& file) const {
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

CollapsedStacks::Track& CollapsedStacks::track(TrackId id) {
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
    place->second.root = child(parent, frame_of_thread(declaration.name, declaration.os_thread_id));
  }
  return place->second;
}

std::uint32_t CollapsedStacks::node_of(ThreadId thread, std::uint32_t stack) {
  constexpr std::size_t most_functions = std::size_t{1} << 13U;  // of any stack that the kernel can hand out
  const auto [place, is_new] = sampled_nodes_.try_emplace((std::uint64_t{thread.value()} << 32U) | stack, 0);
  if (is_new) {
    std::vector<FunctionId> path;  // innermost first
    for (; stack != 0 && path.size() < most_functions; stack = sampled_.caller_of(stack)) {
      path.push_back(sampled_.function_of(stack));
    }
    const auto& threads = timeline_.declarations().threads;
    const ThreadDeclaration declared = thread.index() < threads.size() ? threads[thread.index()] : ThreadDeclaration{};
    std::uint32_t node = child(0, frame_of_thread(declared.name, declared.os_thread_id));
    for (auto function = path.rbegin(); function != path.rend(); ++function) {
      node = child(node, frame_of_function(*function));
    }
    place->second = node;
  }
  return place->second;
}

void CollapsedStacks::add_samples(const EventBatch& batch, bool are_waits) {
  for (const StackSample& sample : batch.stack_samples) {
    if (sample.is_wait() == are_waits) {
      nodes_[node_of(sample.thread, sampled_.index_of(sample.stack))].self += are_waits ? sample.waited_ns() : 1;
    }
  }
}

CollapsedStacks::FrameId CollapsedStacks::frame_of_site(SiteId site) {
  const auto [place, is_new] = site_frames_.try_emplace(site, 0);
  if (is_new) {
    place->second = frame_of(timeline_.site(site).name);
  }
  return place->second;
}

CollapsedStacks::FrameId CollapsedStacks::frame_of_function(FunctionId function) {
  const auto [place, is_new] = function_frames_.try_emplace(function, 0);
  if (is_new) {
    place->second = frame_of(sampled_.name_of(function));
  }
  return place->second;
}

CollapsedStacks::FrameId CollapsedStacks::frame_of_thread(const std::string& name, std::uint64_t os_thread_id) {
  return frame_of(name.empty() ? "thread " + std::to_string(os_thread_id) : name);
}

CollapsedStacks::FrameId CollapsedStacks::frame_of(std::string_view text) {
  std::string part = part_of(text);
  const auto found = frame_ids_.find(part);
  if (found != frame_ids_.end()) {
    return found->second;
  }
  const auto id = static_cast<FrameId>(frames_.size());
  frames_.push_back(part);
  frame_ids_.emplace(std::move(part), id);
  return id;
}

std::uint32_t CollapsedStacks::child(std::uint32_t parent, FrameId frame) {
  const auto [place, is_new] = children_.try_emplace((std::uint64_t{parent} << 32U) | frame, 0);
  if (is_new) {
    place->second = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({parent, frame, 0});
  }
  return place->second;
}

std::string CollapsedStacks::stack_of(std::uint32_t node) const {
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

std::vector<std::string> write_collapsed_stacks(const Timeline& timeline, base::OutputFile file,
                                                const ExportRequest& request) {
  const Declarations& declared = timeline.declarations();
  const bool wants_scopes = request.stacks == StacksOf::scopes;
  if (!wants_scopes && declared.stacks.empty()) {
    throw ExchangeError("no stacks were recorded: kymo record --stacks records them");
  }
  const bool is_of_samples = !declared.stacks.empty() && (!wants_scopes || declared.sites.empty());
  CollapsedStacks stacks(timeline);
  BatchCursor cursor(timeline, {}, is_of_samples ? BatchParts::stacks : BatchParts::scopes);
  for (EventBatch batch; cursor.next(batch);) {
    is_of_samples ? stacks.add_samples(batch, request.stacks == StacksOf::waits) : stacks.add(batch);
    if (request.on_progress) {
      request.on_progress(cursor.share_done());
    }
  }
  stacks.finish(timeline.range().end_ns);
  stacks.write(file);
  file.close();
  return {};
}

}  // namespace kymo::exchange
