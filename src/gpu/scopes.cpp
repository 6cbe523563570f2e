#include "gpu/scopes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/system/clock.hpp"
#include "base/system/message.hpp"
#include "base/system/unresolved.hpp"
#include "base/text/text.hpp"

namespace kymo::gpu {

namespace {

/// Opening a scope collects results if this many scopes wait and the last collection is this long ago.
constexpr std::size_t enough_waiting = 64;
constexpr std::int64_t least_pause_ns = 5'000'000;
/// Limit of resting timers checked per collection.
constexpr std::size_t most_asked = 64;
/// Above this number, empty lanes are removed: command buffers come and go.
constexpr std::size_t most_lanes = 16;
/// The recorder's limits: longer names and texts are cut.
constexpr std::size_t longest_text = 256;
constexpr std::size_t most_arguments = 6;
/// Times this far outside the possible range are wrong, not just imprecise.
constexpr std::int64_t tolerance_ns = 1'000'000;

std::uint32_t cut_size(std::string_view text) {
  return static_cast<std::uint32_t>(base::cut_text(text, longest_text).size());
}

GpuClockFacts facts_of(const GpuDriver* driver) {
  return driver != nullptr ? driver->clock() : GpuClockFacts{};
}

}  // namespace

Scopes::Scopes(GpuDriverOrTrouble driver, const GpuOptions& options, unsigned forks)
    : forks_(forks),
      options_(options),
      driver_(std::move(driver.driver)),
      trouble_(std::move(driver.trouble)),
      clock_(facts_of(driver_.get())) {
  if (driver_ == nullptr && trouble_.empty()) {
    trouble_ = "there is no driver";
  }
  options_.most_pending = std::clamp(options_.most_pending, 1U, GpuOptions::greatest_pending);
}

// A driver still exists only in a forked child, where its resources belong to the parent.
Scopes::~Scopes() {
  static_cast<void>(driver_.release());
}

std::uint32_t Scopes::open(std::string_view name, void* place, std::uint64_t correlation) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = base::monotonic_now_ns();
  if (closed_ >= enough_waiting && now_ns - last_collect_ns_ >= least_pause_ns) {
    collect_now(now_ns);
  }
  if (!is_lost() && !driver_->is_timed(place)) {
    return not_timed;
  }
  ++counts_.issued;
  std::string_view reason = trouble_;
  std::uint32_t timer = no_timer;
  if (!is_lost() && free_.empty() && entries_.size() >= options_.most_pending) {
    reason = "too many scopes wait for the GPU";
  } else if (!is_lost()) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    timer = free_.back();
    if (driver_->write_begin(timer, place)) {
      free_.pop_back();
    } else {
      timer = no_timer;
      reason = "the API took no time stamp";
    }
  }
  Entry aside;
  Entry& entry = timer != no_timer ? entries_[timer] : aside;
  entry.correlation = correlation;
  entry.place = place;
  entry.issued_ns = now_ns;
  entry.is_outermost = false;
  entry.name_size = cut_size(name);
  entry.text.assign(name.substr(0, entry.name_size));
  entry.arguments.clear();
  if (timer == no_timer) {
    mark_unresolved(entry, track_of(place), reason);
  } else {
    ++counts_.pending;
    ++lane_of(place).open;
  }
  return timer;
}

Scopes::Entry* Scopes::entry_of(const GpuTiming& timing) {
  // The timer may have been given up and reused meanwhile.
  if (timing.timer >= entries_.size() || entries_[timing.timer].correlation != timing.correlation) {
    return nullptr;
  }
  return &entries_[timing.timer];
}

void Scopes::add_arguments(const GpuTiming& timing, const Argument* arguments, std::size_t count) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = entry_of(timing);
  for (std::size_t i = 0; entry != nullptr && i < std::min(count, most_arguments); ++i) {
    const Argument& argument = arguments[i];
    KeptArgument kept;
    kept.name_at = static_cast<std::uint32_t>(entry->text.size());
    kept.name_size = cut_size(argument.name);
    kept.type = argument.type;
    kept.bits = argument.bits;
    entry->text.append(argument.name.data(), kept.name_size);
    if (argument.type == ArgumentType::string) {
      // A byte more than the limit, so that the recorder notices the cut.
      const std::string_view text = std::string_view(argument.text).substr(0, longest_text + 1);
      kept.bits = entry->text.size();
      kept.text_size = static_cast<std::uint32_t>(text.size());
      entry->text.append(text);
    }
    entry->arguments.push_back(kept);
  }
}

void Scopes::close(const GpuTiming& timing) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = entry_of(timing);
  if (entry == nullptr) {
    return;  // it was given up while open
  }
  Lane& lane = lane_of(entry->place);
  --lane.open;
  if (!driver_->is_timed(entry->place) || !driver_->write_end(timing.timer, entry->place)) {
    give_up(timing.timer, lane.track, "the API took no time stamp", false);
    if (lane.open == 0 && !lane.closed.empty()) {
      entries_[lane.closed.back()].is_outermost = true;  // its inner scopes no longer wait for it
    }
    return;
  }
  entry->is_outermost = lane.open == 0;
  entry->closed_ns = base::monotonic_now_ns();
  lane.closed.push_back(timing.timer);
  ++closed_;
}

void Scopes::collect(void* recycling_place) {
  const std::lock_guard lock(mutex_);
  if (driver_ != nullptr) {
    driver_->recycle_in(recycling_place);
  }
  collect_now(base::monotonic_now_ns());
  if (driver_ != nullptr) {
    driver_->recycle_in(nullptr);
  }
}

void Scopes::collect_now(std::int64_t now_ns) {
  last_collect_ns_ = now_ns;
  if (is_lost()) {
    return;
  }
  if (driver_->is_lost()) {
    lose_all("the context was lost");
    return;
  }
  compare_clocks(now_ns);
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    collect_lane(lane->second, now_ns);
    const bool is_idle = lane->second.closed.empty() && lane->second.open == 0;
    lane = is_idle && lanes_.size() > most_lanes ? lanes_.erase(lane) : std::next(lane);
  }
  recycle_resting();
}

void Scopes::collect_lane(Lane& lane, std::int64_t now_ns) {
  std::size_t ready = 0;
  while (!lane.closed.empty()) {
    if (ready == 0) {
      const std::size_t group = group_of(lane);
      if ((group == 0 && !is_crowded()) || (group > 1 && !has_come(lane.closed[group - 1], now_ns))) {
        return;
      }
      ready = std::max<std::size_t>(group, 1);
    }
    if (!hand_on(lane.closed.front(), lane, now_ns)) {
      return;
    }
    lane.closed.pop_front();
    --closed_;
    --ready;
  }
}

/// Number of a lane's first scopes that are handed on together: up to an outermost one. 0 if that is still open.
std::size_t Scopes::group_of(const Lane& lane) const {
  const auto outermost = std::find_if(lane.closed.begin(), lane.closed.end(),
                                      [this](std::uint32_t timer) { return entries_[timer].is_outermost; });
  return outermost == lane.closed.end() ? 0 : static_cast<std::size_t>(outermost - lane.closed.begin()) + 1;
}

/// Whether the GPU has reached a scope's end, or waiting for it has timed out.
bool Scopes::has_come(std::uint32_t timer, std::int64_t now_ns) {
  GpuTimes times;
  return now_ns - entries_[timer].closed_ns >= options_.patience.count() ||
         (clock_.is_known() && driver_->ask(timer, times) != GpuAnswer::pending);
}

/// Whether over half of the timers are in use: inner scopes then do not wait for the outer one.
bool Scopes::is_crowded() const {
  return entries_.size() - free_.size() > options_.most_pending / 2;
}

void Scopes::compare_clocks(std::int64_t now_ns) {
  if (now_ns < next_clock_ns_) {
    return;
  }
  next_clock_ns_ = now_ns + options_.clock_period.count();
  if (const std::optional<GpuClockPair> pair = driver_->read_clock()) {
    clock_.add(*pair);
  }
}

bool Scopes::hand_on(std::uint32_t timer, const Lane& lane, std::int64_t now_ns) {
  const Entry& entry = entries_[timer];
  GpuTimes times;
  const GpuAnswer answer = clock_.is_known() ? driver_->ask(timer, times) : GpuAnswer::pending;
  switch (answer) {
    case GpuAnswer::ready:
      if (put(entry, lane, times, base::monotonic_now_ns())) {
        ++counts_.resolved;
        --counts_.pending;
        release(timer, true);
      } else {
        give_up(timer, lane.track, "the GPU tells a time at which it cannot have been", true);
      }
      return true;
    case GpuAnswer::failed:
      give_up(timer, lane.track, "the GPU has no time for it", false);
      return true;
    case GpuAnswer::pending:
      break;
  }
  if (now_ns - entry.closed_ns < options_.patience.count()) {
    return false;
  }
  give_up(timer, lane.track, clock_.is_known() ? "the GPU did not come to it in time" : "the GPU's clock was not told",
          false);
  return true;
}

bool Scopes::put(const Entry& entry, const Lane& lane, const GpuTimes& times, std::int64_t now_ns) {
  const BoundedTime begin = clock_.time_of(times.begin_ticks);
  const std::int64_t duration_ns = clock_.duration_ns(times.begin_ticks, times.end_ticks);
  const std::int64_t reach_ns = begin.bound_ns + tolerance_ns;
  if (begin.ns < entry.issued_ns - reach_ns || begin.ns > now_ns + reach_ns ||
      duration_ns > now_ns - entry.issued_ns + 2 * reach_ns) {
    return false;
  }
  // Work cannot start before it is issued: an earlier time is an error of the clock.
  const std::int64_t start_ns = std::max(begin.ns, entry.issued_ns);
  emit(entry, lane.track, std::string_view(entry.text).substr(0, entry.name_size), start_ns, duration_ns,
       {"clock_bound_ns", begin.bound_ns});
  return true;
}

void Scopes::give_up(std::uint32_t timer, const std::string& track, std::string_view reason, bool has_answered) {
  --counts_.pending;
  mark_unresolved(entries_[timer], track, reason);
  release(timer, has_answered);
}

void Scopes::release(std::uint32_t timer, bool has_answered) {
  entries_[timer].correlation = 0;
  if (!is_lost() && driver_->recycle(timer, has_answered)) {
    free_.push_back(timer);
  } else {
    resting_.emplace_back(timer, has_answered);
  }
}

void Scopes::recycle_resting() {
  const std::size_t asked = std::min(resting_.size(), most_asked);
  std::vector<std::pair<std::uint32_t, bool>> still;
  for (std::size_t i = 0; i < asked; ++i) {
    if (driver_->recycle(resting_[i].first, resting_[i].second)) {
      free_.push_back(resting_[i].first);
    } else {
      still.push_back(resting_[i]);
    }
  }
  // Timers that are not reusable yet go to the end, so that the next collection checks others.
  resting_.erase(resting_.begin(), resting_.begin() + static_cast<std::ptrdiff_t>(asked));
  resting_.insert(resting_.end(), still.begin(), still.end());
}

void Scopes::mark_unresolved(const Entry& entry, const std::string& track, std::string_view reason) {
  ++counts_.unresolved;
  if (!std::exchange(has_said_, true)) {
    base::say(std::string("times of GPU scopes are not known where a span is marked so: ").append(reason));
  }
  std::string name =
      entry.text.substr(0, std::min<std::size_t>(entry.name_size, longest_text - base::unresolved_suffix.size()));
  emit(entry, track, name.append(base::unresolved_suffix), entry.issued_ns, 0, {"unresolved", reason});
}

void Scopes::emit(const Entry& entry, const std::string& track, std::string_view name, std::int64_t start_ns,
                  std::int64_t duration_ns, const Argument& last) {
  const Argument none = Argument::from_bits({}, ArgumentType::int64, 0);
  std::array<Argument, most_arguments + 2> arguments{none, none, none, none, none, none, none, none};
  std::size_t count = 0;
  const std::string_view text = entry.text;
  for (const KeptArgument& kept : entry.arguments) {
    const std::string_view argument = text.substr(kept.name_at, kept.name_size);
    arguments[count++] = kept.type == ArgumentType::string
                             ? Argument::from_text(argument, text.substr(kept.bits, kept.text_size))
                             : Argument::from_bits(argument, kept.type, kept.bits);
  }
  arguments[count++] = {"correlation", entry.correlation};
  arguments[count++] = last;
  const TrackId id = kymo::track(track);
  const std::chrono::nanoseconds start(start_ns);
  emit_span(id, name, "gpu", start, std::chrono::nanoseconds(duration_ns), arguments.data(), count);
  flow_end(detail::gpu_flow | entry.correlation, id, start);
}

std::string Scopes::track_of(void* place) {
  if (!options_.track.empty() || driver_ == nullptr) {
    return options_.track.empty() ? "GPU" : options_.track;
  }
  return driver_->track_name(place);
}

Scopes::Lane& Scopes::lane_of(void* place) {
  const auto found = lanes_.find(place);
  return found != lanes_.end() ? found->second : lanes_.emplace(place, Lane{track_of(place), {}}).first->second;
}

void Scopes::lose(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (!is_lost()) {
    lose_all(reason);
  }
}

void Scopes::lose_all(std::string_view reason) {
  trouble_ = reason.empty() ? "the context was lost" : reason;
  for (std::uint32_t timer = 0; timer < entries_.size(); ++timer) {
    if (entries_[timer].correlation != 0) {
      give_up(timer, lane_of(entries_[timer].place).track, trouble_, false);
    }
  }
  lanes_.clear();
  closed_ = 0;
}

void Scopes::end() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = base::monotonic_now_ns();
  collect_now(now_ns);
  lose_all(is_lost() ? std::string(trouble_) : "its context ended before the GPU came to it");
  driver_.reset();
}

bool Scopes::is_working() const {
  const std::lock_guard lock(mutex_);
  return !is_lost();
}

GpuScopeCounts Scopes::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kymo::gpu
