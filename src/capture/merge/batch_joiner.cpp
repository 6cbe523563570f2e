#include "capture/merge/batch_joiner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/append.hpp"
#include "base/event_lists.hpp"
#include "base/time_math.hpp"
#include "capture/summary/scope_walk.hpp"

namespace kymo::capture {

namespace {

std::size_t weight_of(const EventBatch& batch) {
  std::size_t weight = batch.text.size() / 16;
  base::for_each_plain_list([&weight](const auto& list) { weight += list.size(); }, batch);
  for (const ScopeRun& run : batch.runs) {
    weight += 16 + run.events.size() + run.arguments.size() + run.open_at_start.size();
  }
  for (const SampleRun& run : batch.samples) {
    weight += 16 + run.times_ns.size();
  }
  for (const StateRun& run : batch.states) {
    weight += 16 + run.states.size();
  }
  return weight;
}

bool same(const std::vector<OpenScope>& a, const std::vector<OpenScope>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const OpenScope& left, const OpenScope& right) {
    return left.site == right.site && left.start_ns == right.start_ns;
  });
}

template <typename Rows>
void append(Rows& to, Rows& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

bool BatchJoiner::fits(const EventBatch& batch) const {
  if (is_empty_) {
    return true;
  }
  if (weight_ + weight_of(batch) > most_events ||
      base::length_between(std::min(joined_.start_ns, batch.start_ns), std::max(joined_.end_ns, batch.end_ns)) >
          most_ns) {
    return false;
  }
  // The marks of a block are in order of time. One that came late has to stay behind those that were drained before it.
  const auto is_late = [this](const FrameMark& mark) {
    const auto last = last_marks_ns_.find(mark.stream);
    return last != last_marks_ns_.end() && mark.time_ns < last->second;
  };
  if (std::any_of(batch.frame_marks.begin(), batch.frame_marks.end(), is_late)) {
    return false;
  }
  // If a block in between is missing, only a new batch can state the scopes open at its start.
  return std::all_of(batch.runs.begin(), batch.runs.end(), [this](const ScopeRun& run) {
    if (run_of_.find(run.track) == run_of_.end()) {
      return true;
    }
    const TrackState& track = tracks_.at(run.track);
    return run.first_sequence == track.end_sequence && same(run.open_at_start, track.open);
  });
}

void BatchJoiner::begin() {
  if (is_empty_) {
    joined_ = EventBatch();
    run_of_.clear();
    samples_of_.clear();
    states_of_.clear();
    last_marks_ns_.clear();
    weight_ = 0;
    std::erase_if(tracks_, [](const auto& track) { return track.second.open.empty(); });
  }
}

void BatchJoiner::add(EventBatch& batch) {
  begin();
  weight_ += weight_of(batch);
  joined_.start_ns = is_empty_ ? batch.start_ns : std::min(joined_.start_ns, batch.start_ns);
  joined_.end_ns = is_empty_ ? batch.end_ns : std::max(joined_.end_ns, batch.end_ns);
  is_empty_ = false;
  const std::uint64_t text_offset = joined_.text.size();
  joined_.text += batch.text;
  for (ScopeRun& run : batch.runs) {
    add_run(run, text_offset);
  }
  const auto first_argument = static_cast<std::uint32_t>(joined_.span_arguments.size());
  for (ArgumentValue& value : batch.span_arguments) {
    value.bits += value.type == ArgumentType::string ? text_offset : 0;
  }
  for (SpanEvent& span : batch.spans) {
    span.first_argument += first_argument;
  }
  for (const FrameMark& mark : batch.frame_marks) {
    std::int64_t& last_ns = last_marks_ns_.try_emplace(mark.stream, mark.time_ns).first->second;
    last_ns = std::max(last_ns, mark.time_ns);
  }
  base::append(joined_.declarations, batch.declarations);
  base::for_each_plain_list([](auto& to, auto& more) { append(to, more); }, joined_, batch);
  for (SampleRun& run : batch.samples) {
    add_samples(run);
  }
  for (StateRun& run : batch.states) {
    add_states(run);
  }
  batch = EventBatch();
}

void BatchJoiner::add_samples(SampleRun& run) {
  const auto [place, is_new] = samples_of_.try_emplace(run.metric, joined_.samples.size());
  if (!is_new) {
    SampleRun& joined = joined_.samples[place->second];
    if (joined.times_ns.empty() || run.times_ns.empty() || joined.times_ns.back() <= run.times_ns.front()) {
      if (!joined.flags.empty() || !run.flags.empty()) {
        joined.flags.resize(joined.times_ns.size());
        append(joined.flags, run.flags);
        joined.flags.resize(joined.times_ns.size() + run.times_ns.size());
      }
      append(joined.times_ns, run.times_ns);
      append(joined.values, run.values);
      return;
    }
    place->second = joined_.samples.size();  // a run's times ascend
  }
  joined_.samples.push_back(std::move(run));
}

void BatchJoiner::add_states(StateRun& run) {
  const auto [place, is_new] = states_of_.try_emplace(run.thread, joined_.states.size());
  if (is_new) {
    joined_.states.push_back(std::move(run));
  } else {
    append(joined_.states[place->second].states, run.states);
  }
}

void BatchJoiner::add_run(ScopeRun& run, std::uint64_t text_offset) {
  for (ScopeArgument& argument : run.arguments) {
    argument.value.bits += argument.value.type == ArgumentType::string ? text_offset : 0;
  }
  tracks_[run.track] = {run.end_sequence, run.dropped_scopes, run.dropped_others, open_at_end(run)};
  const auto [place, is_new] = run_of_.try_emplace(run.track, joined_.runs.size());
  if (is_new) {
    joined_.runs.push_back(std::move(run));
    return;
  }
  ScopeRun& joined = joined_.runs[place->second];
  const auto events = static_cast<std::uint32_t>(joined.events.size());
  for (ScopeArgument& argument : run.arguments) {
    argument.position += events;
  }
  joined.end_sequence = run.end_sequence;
  joined.dropped_scopes = std::max(joined.dropped_scopes, run.dropped_scopes);
  joined.dropped_others = std::max(joined.dropped_others, run.dropped_others);
  append(joined.events, run.events);
  append(joined.arguments, run.arguments);
}

const EventBatch& BatchJoiner::take() {
  std::vector<TrackId> quiet;
  for (const auto& [id, track] : tracks_) {
    if (!track.open.empty() && run_of_.find(id) == run_of_.end()) {
      quiet.push_back(id);
    }
  }
  std::sort(quiet.begin(), quiet.end());
  for (const TrackId id : quiet) {
    const TrackState& track = tracks_[id];
    ScopeRun& run = joined_.runs.emplace_back();
    run.track = id;
    run.first_sequence = run.end_sequence = track.end_sequence;
    run.dropped_scopes = track.dropped_scopes;
    run.dropped_others = track.dropped_others;
    run.open_at_start = track.open;
  }
  is_empty_ = true;
  return joined_;
}

}  // namespace kymo::capture
