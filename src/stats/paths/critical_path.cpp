#include "stats/paths/critical_path.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <kymo/batch_cursor.hpp>
#include <kymo/thread_states.hpp>

#include "stats/paths/hand_overs.hpp"
#include "stats/paths/path_arguments.hpp"
#include "stats/paths/path_samples.hpp"
#include "stats/paths/queue_waits.hpp"
#include "stats/paths/track_walk.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

namespace {

constexpr std::string_view lock_wait_prefix = "wait for ";
/// So many flows that arrive after another are looked at for one that was waited for as well.
constexpr std::size_t most_joined = 1'024;

enum class Known : std::uint8_t { nothing, running, runnable, blocked };

struct LockWait {
  PathRequest request;  // of the wait: its range, and its waiting track
  SiteId site;
};

class PathFinder {
 public:
  PathFinder(const Timeline& timeline, const std::vector<Instance>& instances, OwnerTable& owners)
      : timeline_(timeline),
        owners_(owners),
        states_(timeline),
        hand_overs_(timeline, ranges_of(instances)),
        queue_waits_(timeline, hand_overs_),
        samples_(timeline, union_of(ranges_of(instances))) {
    found_.paths.resize(instances.size());
    for (const TrackDeclaration& track : timeline.tracks()) {
      for (const ThreadId thread : states_.threads_of(track.id)) {
        tracks_.emplace(thread, track.id);
      }
    }
    for (std::size_t i = 0; i < instances.size(); ++i) {
      const Instance& instance = instances[i];
      pids_.push_back(pid_of(timeline, {instance.track, instance.thread}));
      next_.push_back({{instance.start_ns, instance.end_ns()},
                       {instance.track, instance.thread},
                       static_cast<std::uint32_t>(i),
                       0});
    }
  }

  CriticalPaths run(const std::function<void(double)>& on_progress) {
    for (std::size_t level = 0; !next_.empty(); ++level) {
      may_follow_ = level < most_waits_followed;
      if (on_progress) {
        on_progress(static_cast<double>(level) / (most_waits_followed + 1));
      }
      walk(std::exchange(next_, {}));
      for (const LockWait& wait : std::exchange(lock_waits_, {})) {
        follow_lock(wait);
      }
    }
    own_possible_waits();
    found_.is_cut = found_.is_cut || hand_overs_.is_cut() || samples_.is_cut();
    return std::move(found_);
  }

  // Of the walk over a track:
  void activate(ActiveRequest& active);
  void stretch(ActiveRequest& active, SiteId site, TimeRange range);
  void call(const ActiveRequest& active, SiteId site, SiteId outer);
  void argument(const ActiveRequest& active, SiteId site, const ArgumentValue& value);

 private:
  using Walk = TrackWalk<PathFinder>;
  static constexpr std::size_t most_requests = HandOvers::most_events;
  static constexpr std::size_t most_stacks = 2 * PathSamples::most_samples;  // instances may overlap

  static std::vector<TimeRange> ranges_of(const std::vector<Instance>& instances) {
    std::vector<TimeRange> ranges;
    ranges.reserve(instances.size());
    for (const Instance& instance : instances) {
      ranges.push_back({instance.start_ns, instance.end_ns()});
    }
    return ranges;
  }

  void walk(std::vector<PathRequest> requests);
  void follow_lock(const LockWait& wait);
  void follow_flow(ActiveRequest& active, SiteId site, TimeRange range, TrackId sender);
  void follow(const PathRequest& from, TimeRange range, Actor actor, ChainId chain, SubjectId subject);
  void own(ActiveRequest& active, SiteId site, TimeRange range);
  [[nodiscard]] bool own_by_queue(const ScopeStretch& stretch);
  [[nodiscard]] SubjectId subject_of(const PathRequest& request, SiteId site);
  [[nodiscard]] std::uint64_t own_pid(const PathRequest& request) const { return pids_[request.instance]; }
  [[nodiscard]] bool own_by_waker(const ScopeStretch& wait, ThreadId thread, bool has_scopes);
  void own_possible_waits();
  void own_by_work(const ScopeStretch& stretch, TrackId queue, OwnerKind own_kind);
  void add(const PathRequest& request, ChainId chain, OwnerKind kind, SubjectId subject, Actor actor, TimeRange range);
  void add_delay(const Delay& delay);
  void add_stacks(std::uint32_t instance, OwnerId owner, TimeRange range);
  template <typename Visit>
  void split(ActiveRequest& active, TimeRange range, const Visit& visit);

  const Timeline& timeline_;
  OwnerTable& owners_;
  ThreadStates states_;
  HandOvers hand_overs_;
  QueueWaits queue_waits_;
  PathSamples samples_;
  std::unordered_map<ThreadId, TrackId> tracks_;
  CriticalPaths found_;
  PathArguments arguments_{found_};
  SiteId last_inner_{};  // of `around`
  SiteId last_outer_{};
  std::vector<std::uint64_t> pids_;  // of the instances
  std::vector<PathRequest> next_;
  std::vector<LockWait> lock_waits_;
  bool may_follow_ = true;
};

/// Which blocks of a capture have to be read: those that the requests touch, from the end of what is before.
std::vector<bool> blocks_of(const timeline::Source& source, const std::vector<TimeRange>& ranges) {
  std::vector<bool> chosen(source.block_count());
  std::int64_t before_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t block = 0; block < chosen.size(); ++block) {
    const std::int64_t start_ns = std::min(before_ns, source.start_ns(block));
    const bool is_last = block + 1 == chosen.size();
    const std::int64_t end_ns = is_last ? std::numeric_limits<std::int64_t>::max() : source.end_ns(block);
    const auto next =
        std::upper_bound(ranges.begin(), ranges.end(), start_ns,
                         [](std::int64_t time_ns, const TimeRange& range) { return time_ns <= range.end_ns; });
    chosen[block] = next != ranges.end() && next->start_ns <= end_ns;
    before_ns = std::max(before_ns, source.end_ns(block));
  }
  return chosen;
}

void PathFinder::walk(std::vector<PathRequest> requests) {
  std::vector<TimeRange> ranges;
  std::unordered_map<TrackId, std::vector<PathRequest>> by_track;
  for (const PathRequest& request : std::exchange(requests, {})) {
    if (!request.actor.track) {
      ActiveRequest active{request, {}, {}, 0};
      activate(active);
      own(active, SiteId{}, request.range);
      continue;
    }
    ranges.push_back(request.range);
    by_track[request.actor.track].push_back(request);
  }
  if (by_track.empty()) {
    return;
  }
  ranges = union_of(std::move(ranges));
  std::unordered_map<TrackId, Walk> walks;
  std::unordered_map<TrackId, bool> is_in_batch;
  for (auto& [track, of_track] : by_track) {
    walks.try_emplace(track, *this, std::move(of_track));
  }
  std::vector<std::vector<bool>> chosen;
  for (const auto& source : timeline::sources_of(timeline_)) {
    chosen.push_back(blocks_of(*source, ranges));
  }
  BatchCursor cursor(timeline_, {ranges.front().start_ns, std::numeric_limits<std::int64_t>::max()}, BatchParts::scopes,
                     [&chosen](std::size_t capture, std::size_t block) { return chosen[capture][block]; });
  for (EventBatch batch; cursor.next(batch);) {
    is_in_batch.clear();
    arguments_.begin_batch(batch.text);
    for (const ScopeRun& run : batch.runs) {
      const auto found = walks.find(run.track);
      if (found != walks.end()) {
        found->second.take(run);
        is_in_batch[run.track] = true;
      }
    }
    // Blocks may have been skipped. A block has a run of each track with open scopes.
    for (auto& [track, of_track] : walks) {
      const ProcessId process = timeline_.track(track).process;
      const bool is_of_capture = process && timeline_.process(process).capture == cursor.capture();
      if (is_of_capture && is_in_batch.count(track) == 0) {
        of_track.close_all();
      }
    }
  }
  for (auto& [track, of_track] : walks) {
    of_track.finish();
  }
}

void PathFinder::activate(ActiveRequest& active) {
  for (const ThreadId thread : threads_of(states_, active.request.actor)) {
    active.states = states_.states(thread, active.request.range);
    if (!active.states.empty()) {
      active.thread = thread;
      return;
    }
  }
}

void PathFinder::call(const ActiveRequest& active, SiteId site, SiteId outer) {
  if (site != last_inner_ || outer != last_outer_) {
    found_.around.emplace(owners_.subject_of(site), owners_.subject_of(outer));
    last_inner_ = site;
    last_outer_ = outer;
  }
  const Owner owner{active.request.chain, OwnerKind::computing, owners_.subject_of(site), active.request.actor};
  ++found_.paths[active.request.instance].parts[owners_.owner_of(owner)].calls;
}

void PathFinder::argument(const ActiveRequest& active, SiteId site, const ArgumentValue& value) {
  arguments_.take(active.request.instance, owners_.subject_of(site), value);
}

void PathFinder::add(const PathRequest& request, ChainId chain, OwnerKind kind, SubjectId subject, Actor actor,
                     TimeRange range) {
  const OwnerId owner = owners_.owner_of({chain, kind, subject, actor});
  found_.paths[request.instance].parts[owner].duration_ns += range.end_ns - range.start_ns;
  if (kind == OwnerKind::waking && range.start_ns < range.end_ns) {
    add_delay({range, actor, std::nullopt, owner, request.instance});
  }
  if (kind == OwnerKind::blocked && found_.waits.size() < most_delays) {
    found_.waits.push_back({range, actor, std::nullopt, owner, request.instance});
  }
  if (!samples_.empty()) {
    add_stacks(request.instance, owner, range);
  }
}

void PathFinder::add_stacks(std::uint32_t instance, OwnerId owner, TimeRange range) {
  const auto add_one = [&](std::uint32_t stack, double amount) {
    found_.is_cut = found_.is_cut || found_.stacks.size() == most_stacks;
    if (found_.stacks.size() < most_stacks) {
      found_.stacks.push_back({instance, owner, stack, amount});
    }
  };
  const auto& [chain, kind, subject, actor] = owners_.owner(owner);
  if (kind == OwnerKind::computing) {
    samples_.visit_samples(actor, range, [&](std::uint32_t stack) { add_one(stack, 1); });
  } else if (kind == OwnerKind::blocked) {
    samples_.visit_waits(actor, range, add_one);
  }
}

void PathFinder::add_delay(const Delay& delay) {
  if (found_.delays.size() < most_delays) {
    found_.delays.push_back(delay);
  }
}

/// Cuts a range at changes of the run state. Calls for one request have ascending ranges.
template <typename Visit>
void PathFinder::split(ActiveRequest& active, TimeRange range, const Visit& visit) {
  while (range.start_ns < range.end_ns) {
    while (active.next_state < active.states.size() && active.states[active.next_state].end_ns() <= range.start_ns) {
      ++active.next_state;
    }
    if (active.next_state == active.states.size()) {
      visit(Known::nothing, 0U, range);
      return;
    }
    const ThreadState& state = active.states[active.next_state];
    const bool is_known = state.start_ns <= range.start_ns;
    const std::int64_t end_ns = std::min(range.end_ns, is_known ? state.end_ns() : state.start_ns);
    const Known known = !is_known                           ? Known::nothing
                        : state.state == RunState::running  ? Known::running
                        : state.state == RunState::runnable ? Known::runnable
                                                            : Known::blocked;
    visit(known, state.cpu, TimeRange{range.start_ns, end_ns});
    range.start_ns = end_ns;
  }
}

void PathFinder::stretch(ActiveRequest& active, SiteId site, TimeRange range) {
  const PathRequest& request = active.request;
  if (site && timeline_.site(site).role == SiteRole::wait) {
    const bool has_room = lock_waits_.size() < most_requests;
    found_.is_cut = found_.is_cut || !has_room;
    if (may_follow_ && has_room) {
      lock_waits_.push_back({{range, request.actor, request.instance, request.chain}, site});
    } else {
      add(request, request.chain, OwnerKind::blocked, owners_.subject_of(site), request.actor, range);
    }
    return;
  }
  const std::span<const Arrival> arrivals = hand_overs_.arrivals(request.actor.track, range);
  for (std::size_t i = 0; may_follow_ && i < arrivals.size(); ++i) {
    // The thread goes on with the first flow to arrive. It may have waited for others that it takes right after.
    const Arrival& first = arrivals[i];
    const Arrival* last_sent = &first;
    for (const Arrival& other : arrivals.subspan(i + 1, std::min(arrivals.size() - i - 1, most_joined))) {
      last_sent = other.sent_ns <= first.time_ns && other.sent_ns > last_sent->sent_ns ? &other : last_sent;
    }
    if (last_sent->sent_ns <= range.start_ns) {
      continue;  // it had come before the thread could wait for it
    }
    follow_flow(active, site, {range.start_ns, last_sent->sent_ns}, last_sent->sender);
    const ChainId chain = owners_.chain_of({request.chain, WaitKind::flow, owners_.subject_of(site), false});
    add(request, chain, OwnerKind::waking, owners_.subject_of(site), request.actor,
        {last_sent->sent_ns, first.time_ns});
    range.start_ns = first.time_ns;
  }
  own(active, site, range);
}

void PathFinder::follow_flow(ActiveRequest& active, SiteId site, TimeRange range, TrackId sender) {
  split(active, range, [&](Known known, std::uint32_t /*cpu*/, TimeRange part) {
    const PathRequest& request = active.request;
    const SubjectId subject = owners_.subject_of(site);
    if (known == Known::running || known == Known::runnable) {
      add(request, request.chain, known == Known::running ? OwnerKind::computing : OwnerKind::pushed_off, subject,
          request.actor, part);
      return;
    }
    const TrackKind kind = timeline_.track(sender).kind;
    if (kind == TrackKind::thread) {
      follow(request, part, {sender, {}}, owners_.chain_of({request.chain, WaitKind::flow, subject, false}), subject);
    } else if (kind == TrackKind::queue) {
      own_by_work({request, site, part}, sender, OwnerKind::blocked);
    } else {
      add(request, request.chain, OwnerKind::blocked, subject, request.actor, part);
    }
  });
}

void PathFinder::follow(const PathRequest& from, TimeRange range, Actor actor, ChainId chain, SubjectId subject) {
  if (next_.size() < most_requests) {
    next_.push_back({range, actor, from.instance, chain});
  } else {
    found_.is_cut = true;
    add(from, chain, OwnerKind::blocked, subject, from.actor, range);
  }
}

void PathFinder::follow_lock(const LockWait& wait) {
  const PathRequest& request = wait.request;
  const SiteDeclaration& declared = timeline_.site(wait.site);
  const SubjectId subject = owners_.subject_of(wait.site);
  const ChainId chain = owners_.chain_of({request.chain, WaitKind::lock, subject, false});
  const bool has_name = std::string_view(declared.name).substr(0, lock_wait_prefix.size()) == lock_wait_prefix;
  const auto own_by = [&](TimeRange range, const std::string& holder) {
    const TrackId thread = hand_overs_.thread_of(declared.process, holder);
    if (thread && thread != request.actor.track) {
      follow(request, range, {thread, {}}, chain, subject);
    } else {
      add(request, chain, OwnerKind::held, owners_.subject_of(holder), request.actor, range);
    }
  };
  std::int64_t reached_ns = request.range.start_ns;
  if (has_name) {
    for (const Hold& hold :
         hand_overs_.holds(declared.process, declared.name.substr(lock_wait_prefix.size()), request.range)) {
      const TimeRange held{std::max(hold.start_ns, reached_ns), std::min(hold.end_ns, request.range.end_ns)};
      if (held.start_ns > reached_ns) {
        add(request, chain, OwnerKind::waking, subject, request.actor, {reached_ns, held.start_ns});
      }
      own_by(held, std::string(timeline_.name(hold.holder)));
      reached_ns = held.end_ns;
    }
  }
  if (reached_ns == request.range.start_ns) {
    own_by(request.range, declared.function);
  } else if (reached_ns < request.range.end_ns) {
    add(request, chain, OwnerKind::waking, subject, request.actor, {reached_ns, request.range.end_ns});
  }
}

void PathFinder::own(ActiveRequest& active, SiteId site, TimeRange range) {
  const ScopeStretch whole{active.request, site, range};
  const SubjectId subject = subject_of(active.request, site);
  if (active.states.empty() && active.request.actor.track) {
    const PathRequest& request = active.request;
    if (const TrackId queue = queue_waits_.of_unknown(whole); queue) {
      own_by_work(whole, queue, OwnerKind::blocked);
    } else {
      add(request, request.chain, OwnerKind::computing, subject, request.actor, range);
    }
    return;
  }
  std::optional<TrackId> polled;  // asked for when the thread is found to run
  split(active, range, [&](Known known, std::uint32_t cpu, TimeRange part) {
    const PathRequest& request = active.request;
    if (known == Known::running && !polled) {
      polled = queue_waits_.of_running(whole);
    }
    const ScopeStretch stretch{request, site, part};
    if ((known == Known::running && *polled && queue_waits_.keep(stretch, *polled)) ||
        (known == Known::blocked && (own_by_waker(stretch, active.thread, true) || own_by_queue(stretch) ||
                                     own_by_waker(stretch, active.thread, false)))) {
      return;
    }
    const bool is_unknown = known == Known::nothing && request.actor.thread;
    const OwnerKind kind = known == Known::runnable  ? OwnerKind::pushed_off
                           : known == Known::blocked ? OwnerKind::blocked
                           : is_unknown              ? OwnerKind::held
                                                     : OwnerKind::computing;
    add(request, request.chain, kind, subject, request.actor, part);
    if (kind == OwnerKind::pushed_off) {
      const OwnerId owner = owners_.owner_of({request.chain, kind, subject, request.actor});
      add_delay({part, request.actor, cpu, owner, request.instance});
    }
  });
}

/// What is the innermost in a thread: a scope, or the thread itself if it has none.
SubjectId PathFinder::subject_of(const PathRequest& request, SiteId site) {
  const bool is_thread = request.actor.thread && request.chain != 0;
  return is_thread ? owners_.subject_of(request.actor.thread, own_pid(request)) : owners_.subject_of(site);
}

/// Whether a blocked stretch is owned by the thread that ended it, which has scopes or none.
bool PathFinder::own_by_waker(const ScopeStretch& wait, ThreadId thread, bool has_scopes) {
  const auto& [request, site, range] = wait;
  const std::optional<ThreadWake> wake = may_follow_ ? hand_overs_.wake_of(thread, range) : std::nullopt;
  const auto track = wake ? tracks_.find(wake->waker) : tracks_.end();
  if (!wake || (track != tracks_.end()) != has_scopes) {
    return false;
  }
  const SubjectId subject = subject_of(request, site);
  const ChainId chain =
      owners_.chain_of({request.chain, WaitKind::wake, subject, static_cast<bool>(request.actor.thread)});
  const TimeRange waited{range.start_ns, wake->time_ns};
  const Actor waker = has_scopes ? Actor{track->second, {}} : Actor{{}, wake->waker};
  if (has_scopes || !states_.states(wake->waker, waited).empty()) {
    follow(request, waited, waker, chain, subject);
  } else {
    add(request, chain, OwnerKind::held, owners_.subject_of(wake->waker, own_pid(request)), request.actor, waited);
  }
  add(request, chain, OwnerKind::waking, subject, request.actor, {wake->time_ns, range.end_ns});
  return true;
}

/// Whether a blocked stretch is owned by a queue, or kept until that is known.
bool PathFinder::own_by_queue(const ScopeStretch& stretch) {
  const auto [queue, is_kept] = queue_waits_.of_blocked(stretch);
  if (queue) {
    own_by_work(stretch, queue, OwnerKind::blocked);
  }
  return queue || is_kept;
}

/// Stretches that only all of their scope's could judge.
void PathFinder::own_possible_waits() {
  for (const auto& [stretch, queue, is_running] : queue_waits_.decide()) {
    const OwnerKind own_kind = is_running ? OwnerKind::computing : OwnerKind::blocked;
    if (queue) {
      own_by_work(stretch, queue, own_kind);
    } else {
      const PathRequest& request = stretch.request;
      add(request, request.chain, own_kind, owners_.subject_of(stretch.site), request.actor, stretch.range);
    }
  }
}

/// The queue's spans own their times, the thread the rest. A thread that was blocked went on some time after the last
/// span.
void PathFinder::own_by_work(const ScopeStretch& stretch, TrackId queue, OwnerKind own_kind) {
  const auto& [request, site, range] = stretch;
  const SubjectId subject = owners_.subject_of(site);
  const ChainId chain = owners_.chain_of({request.chain, WaitKind::queue, subject, false});
  std::int64_t reached_ns = range.start_ns;
  for (const QueueWork& work : hand_overs_.work(queue, range)) {
    if (work.start_ns > reached_ns) {
      add(request, request.chain, own_kind, subject, request.actor, {reached_ns, work.start_ns});
    }
    add(request, chain, OwnerKind::queue, owners_.subject_of(timeline_.name(work.name)), {queue, {}},
        {work.start_ns, work.end_ns});
    reached_ns = work.end_ns;
  }
  const TimeRange rest{reached_ns, range.end_ns};
  if (rest.start_ns == rest.end_ns) {
    return;
  }
  if (own_kind == OwnerKind::blocked) {
    add(request, chain, OwnerKind::waking, subject, request.actor, rest);
  } else {
    add(request, request.chain, own_kind, subject, request.actor, rest);
  }
}

}  // namespace

CriticalPaths find_critical_paths(const Timeline& timeline, const std::vector<Instance>& instances, OwnerTable& owners,
                                  const std::function<void(double)>& on_progress) {
  return PathFinder(timeline, instances, owners).run(on_progress);
}

}  // namespace kymo::stats
