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
    tracks_.erase(end.track);
  }
  return rest;
}

void ScopeLimit::strip(ScopeRun& run) {
  std::size_t depth = run.open_at_start.size();
  const auto [place, is_new] = tracks_.try_emplace(run.track);
  Track& track = place->second;
  if (is_new) {
    track.kept_depth = static_cast<std::uint16_t>(depth);
  }
  run.open_at_start.resize(std::min<std::size_t>(depth, track.kept_depth));

  std::vector<ScopeArgument> arguments;
  auto argument = run.arguments.begin();
  std::size_t kept = 0;
  const auto take_arguments = [&](std::size_t position) {
    for (; argument != run.arguments.end() && argument->position <= position; ++argument) {
      if (depth == track.kept_depth && depth > 0) {
        arguments.push_back({static_cast<std::uint32_t>(kept), argument->value});
      } else {
        ++track.dropped_others;
      }
    }
  };
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    take_arguments(i);
    const ScopeEvent event = run.events[i];
    if (event.is_open()) {
      ++track.dropped_scopes;
      depth = std::size_t{event.depth} + 1;
    } else {
      depth = event.depth;
      if (event.depth < track.kept_depth) {
        track.kept_depth = event.depth;
        run.events[kept++] = event;
      }
    }
  }
  take_arguments(run.events.size());
  run.events.resize(kept);
  run.arguments = std::move(arguments);
  run.dropped_scopes += track.dropped_scopes;
  run.dropped_others += track.dropped_others;
}

}  // namespace kymo::control
