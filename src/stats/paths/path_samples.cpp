#include "stats/paths/path_samples.hpp"

#include <map>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "stats/common/stack_tree.hpp"
#include "stats/paths/instances.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo::stats {

PathSamples::PathSamples(const Timeline& timeline, const std::vector<TimeRange>& intervals) {
  if (timeline.declarations().stacks.empty() || intervals.empty()) {
    return;
  }
  read(timeline, intervals);
  for (auto& [id, thread] : threads_) {
    alone_[id] = {&thread};
    for (std::vector<Taken>* const all : {&thread.samples, &thread.waits}) {
      std::stable_sort(all->begin(), all->end(), [](const Taken& a, const Taken& b) { return a.time_ns < b.time_ns; });
    }
  }
  for (const auto& [track, threads] : timeline::threads_of_tracks(timeline.declarations())) {
    for (const ThreadId thread : threads) {
      const auto found = threads_.find(thread);
      if (found != threads_.end()) {
        tracks_[track].push_back(&found->second);
      }
    }
  }
}

void PathSamples::read(const Timeline& timeline, const std::vector<TimeRange>& intervals) {
  const auto is_in_one = [&intervals](std::int64_t start_ns, std::int64_t end_ns) {
    const auto next =
        std::upper_bound(intervals.begin(), intervals.end(), start_ns,
                         [](std::int64_t time_ns, const TimeRange& range) { return time_ns < range.end_ns; });
    return next != intervals.end() && next->start_ns <= end_ns;
  };
  const StackTree tree(timeline);
  std::size_t count = 0;
  std::map<std::pair<ThreadId, std::uint32_t>, std::pair<double, double>> waited;  // taken and not, by stack
  BatchCursor cursor(timeline, {}, BatchParts::stacks);
  for (EventBatch batch; cursor.next(batch) && !is_cut_;) {
    for (const StackSample& sample : batch.stack_samples) {
      const std::uint32_t stack = tree.index_of(sample.stack);
      const std::int64_t blocked_ns = std::max<std::int64_t>(sample.blocked_ns, 0);
      if (sample.is_wait()) {
        auto& [taken_ns, other_ns] = waited[{sample.thread, stack}];
        taken_ns += static_cast<double>(blocked_ns);
        other_ns += static_cast<double>(std::max<std::int64_t>(sample.unsampled_ns, 0));
      }
      if (!is_usable_time(sample.time_ns) || !is_usable_time(blocked_ns) || sample.unsampled_ns > 0 ||
          !is_in_one(sample.time_ns - blocked_ns, sample.time_ns)) {
        continue;
      }
      if (count++ == most_samples) {
        is_cut_ = true;
        break;
      }
      Thread& thread = threads_[sample.thread];
      (sample.is_wait() ? thread.waits : thread.samples).push_back({sample.time_ns, blocked_ns, stack});
    }
  }
  for (auto& [id, thread] : threads_) {
    for (Taken& wait : thread.waits) {
      const auto& [taken_ns, other_ns] = waited.at({id, wait.stack});
      wait.weight = static_cast<float>(1 + other_ns / taken_ns);
    }
  }
}

const std::vector<PathSamples::Thread*>& PathSamples::threads_of(const Actor& actor) const {
  static const std::vector<Thread*> none;
  if (actor.thread) {
    const auto found = alone_.find(actor.thread);
    return found != alone_.end() ? found->second : none;
  }
  const auto found = tracks_.find(actor.track);
  return found != tracks_.end() ? found->second : none;
}

std::size_t PathSamples::first_after(const std::vector<Taken>& all, std::size_t& hint, std::int64_t time_ns) {
  const auto is_first = [&](std::size_t i) {
    return (i == 0 || all[i - 1].time_ns <= time_ns) && (i == all.size() || all[i].time_ns > time_ns);
  };
  for (const std::size_t guess : {hint, hint + 1}) {
    if (guess <= all.size() && is_first(guess)) {
      hint = guess;
      return guess;
    }
  }
  hint = static_cast<std::size_t>(
      std::upper_bound(all.begin(), all.end(), time_ns,
                       [](std::int64_t time, const Taken& taken) { return time < taken.time_ns; }) -
      all.begin());
  return hint;
}

}  // namespace kymo::stats
