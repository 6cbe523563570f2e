#include "control/scope_limit.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/append.hpp"

namespace kymo::control {

EventBatch ScopeLimit::without_scopes(const EventBatch& batch) {
  EventBatch rest;
  base::copy(rest, batch);
  // Leaves only the text that the arguments need.
  const std::string text = std::exchange(rest.text, {});
  const auto keep_text = [&](ArgumentValue& value) {
    if (value.type == ArgumentType::string) {
      const auto own = std::string_view(text).substr(static_cast<std::size_t>(value.bits), value.text_size);
      value.bits = rest.text.size();
      rest.text += own;
    }
  };
  for (ScopeRun& run : rest.runs) {
    strip(run);
    for (ScopeArgument& argument : run.arguments) {
      keep_text(argument.value);
    }
  }
  for (ArgumentValue& value : rest.span_arguments) {
    keep_text(value);
  }
  rest.states.clear();
  for (const TrackEnd& end : batch.track_ends) {
    kept_depths_.erase(end.track);
  }
  state_drops(rest);
  return rest;
}

void ScopeLimit::state_drops(EventBatch& batch) {
  if (dropped_scopes_ + dropped_others_ == stated_) {
    return;
  }
  if (stated_ == 0) {
    TrackDeclaration& track = batch.declarations.tracks.emplace_back();
    track.id = limit_track;
    track.kind = TrackKind::queue;
    track.name = "(not recorded: the capture had reached KYMO_MAX_SIZE)";
  }
  ScopeRun& run = batch.runs.emplace_back();
  run.track = limit_track;
  run.dropped_scopes = dropped_scopes_;
  run.dropped_others = dropped_others_;
  stated_ = dropped_scopes_ + dropped_others_;
}

void ScopeLimit::strip(ScopeRun& run) {
  std::size_t depth = run.open_at_start.size();
  std::uint16_t& kept_depth = kept_depths_.try_emplace(run.track, static_cast<std::uint16_t>(depth)).first->second;
  run.open_at_start.resize(std::min<std::size_t>(depth, kept_depth));

  std::vector<ScopeArgument> arguments;
  auto argument = run.arguments.begin();
  std::size_t kept = 0;
  const auto take_arguments = [&](std::size_t position) {
    for (; argument != run.arguments.end() && argument->position <= position; ++argument) {
      if (depth == kept_depth && depth > 0) {
        arguments.push_back({static_cast<std::uint32_t>(kept), argument->value});
      } else {
        ++dropped_others_;
      }
    }
  };
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    take_arguments(i);
    const ScopeEvent event = run.events[i];
    if (event.is_open()) {
      ++dropped_scopes_;
      depth = std::size_t{event.depth} + 1;
    } else {
      depth = event.depth;
      if (event.depth < kept_depth) {
        kept_depth = event.depth;
        run.events[kept++] = event;
      }
    }
  }
  take_arguments(run.events.size());
  run.events.resize(kept);
  run.arguments = std::move(arguments);
}

}  // namespace kymo::control
