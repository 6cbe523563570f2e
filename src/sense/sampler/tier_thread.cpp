#include "sense/sampler/tier_thread.hpp"
#include "base/system/clock.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include <kymo/recorder.hpp>

#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "base/text/pattern_list.hpp"

namespace kymo::sense {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t description_pause_ns = 5 * second_ns;
constexpr unsigned most_descriptions = 500;  // per sensor: each takes some hundred bytes of the pool

std::int64_t period_of(double hz) {
  return static_cast<std::int64_t>(std::llround(1e9 / hz));
}

/// Advances a deadline to the next one that has not passed. Returns how many were skipped.
std::uint64_t advance(std::int64_t& deadline_ns, std::int64_t period_ns, std::int64_t now_ns) {
  deadline_ns += period_ns;
  if (deadline_ns > now_ns) {
    return 0;
  }
  const std::int64_t skipped = (now_ns - deadline_ns) / period_ns + 1;
  deadline_ns += skipped * period_ns;
  return static_cast<std::uint64_t>(skipped);
}

/// Declares a metric with the sampler's labels after its own.
MetricId declare(const MetricDeclaration& metric, const Labels& more) {
  std::array<MetricLabel, 8> labels;
  std::size_t count = std::min(labels.size(), metric.labels.size());
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = {metric.labels[i].first, metric.labels[i].second};
  }
  for (std::size_t i = 0; i < more.size() && count < labels.size(); ++i) {
    labels[count++] = {more[i].first, more[i].second};
  }
  return declare_metric({metric.name, metric.unit, metric.kind, metric.source, labels.data(), count, metric.step,
                         metric.renewal_ns, metric.window_ns, metric.traits});
}

void set_up_thread(Tier tier, const std::vector<int>& cpus) {
  base::name_this_thread((std::string("kymo-") + name_of(tier)).c_str());
  if (!schedule_tier(tier, cpus)) {
    static base::SayOnce say_not_pinned;
    say_not_pinned("the sampler cannot run on the CPUs it was given; it runs anywhere");
  }
}

}  // namespace

const char* name_of(Tier tier) {
  constexpr std::array names = {"fast", "medium", "slow"};
  return names[static_cast<std::size_t>(tier)];
}

std::string rate_text(double hz) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", hz);
  return text;
}

SensorFeed::SensorFeed(std::unique_ptr<Sensor> sensor, double hz, TierThread& home)
    : period_ns(period_of(hz)), sensor_(std::move(sensor)), home_(&home) {}

std::uint64_t SensorFeed::advance(std::int64_t now_ns) {
  const std::uint64_t missed = sense::advance(deadline_ns, period_ns, now_ns);
  const std::int64_t rest_ns = sensor_->resting_until_ns() - deadline_ns;
  deadline_ns += rest_ns > 0 ? (rest_ns + period_ns - 1) / period_ns * period_ns : 0;
  return missed;
}

void SensorFeed::sample(std::int64_t now_ns, std::vector<MetricSample>& samples) {
  sensor_->read(now_ns);
  read_ns_ = base::monotonic_now_ns() - now_ns;
  const std::vector<Reading>& readings = sensor_->readings();
  if (told_facts_ != sensor_->facts().size()) {
    tell_facts();
  }
  if (described_ != sensor_->description_count() && now_ns >= next_description_ns_) {
    describe_anew(now_ns);
  }
  ids_.resize(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (readings[i].has_value) {
      // A metric that never has a value is not declared, so readers do not show an empty one.
      if (!ids_[i]) {
        ids_[i] = declare(sensor_->metrics()[i], home_->labels());
      }
      samples.push_back({ids_[i], readings[i].flags, readings[i].value});
      has_worked_ = has_worked_ || !std::isnan(readings[i].value);
    }
  }
  if (sensor_->trouble() != told_trouble_) {
    tell_trouble();
  }
  if (!is_warm_) {
    warm_up(now_ns);
  }
}

void SensorFeed::tell_facts() {
  for (const auto& facts = sensor_->facts(); told_facts_ < facts.size(); ++told_facts_) {
    const auto& [key, value] = facts[told_facts_];
    if (base::wants_fact(key)) {
      set_info(key, value);
    }
  }
}

void SensorFeed::warm_up(std::int64_t now_ns) {
  constexpr unsigned enough_reads = 2;
  first_read_ns_ = reads_ == 0 ? now_ns : first_read_ns_;
  ++reads_;
  const std::vector<Reading>& readings = sensor_->readings();
  has_had_value_.resize(readings.size());
  is_warm_ = true;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    has_had_value_[i] = has_had_value_[i] || (readings[i].has_value && !std::isnan(readings[i].value));
    const MetricDeclaration& metric = sensor_->metrics()[i];
    const std::int64_t patience_ns = std::min(2 * (metric.window_ns + metric.renewal_ns), second_ns);
    const std::int64_t waited_ns = now_ns - first_read_ns_;
    const bool had_time = waited_ns >= second_ns || (reads_ >= enough_reads && waited_ns >= patience_ns);
    is_warm_ = is_warm_ && (has_had_value_[i] || had_time || sensor_->is_unavailable());
  }
}

void SensorFeed::describe_anew(std::int64_t now_ns) {
  const std::vector<MetricDeclaration>& metrics = sensor_->metrics();
  ids_.resize(metrics.size());
  described_ = sensor_->description_count();
  if (descriptions_ >= most_descriptions) {
    return;
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (ids_[i]) {
      ids_[i] = declare(metrics[i], home_->labels());
      ++descriptions_;
      next_description_ns_ = now_ns + description_pause_ns;
    }
  }
}

void SensorFeed::tell_trouble() {
  told_trouble_ = sensor_->trouble();
  if (sensor_->has_ended()) {
    return;
  }
  // A source that does not exist at all is reported by `kymo doctor`.
  const bool is_there = has_worked_ || told_trouble_.find("denied") != std::string::npos;
  if (!is_there) {
    return;
  }
  set_info("sensor." + sensor_->name(), told_trouble_.empty() ? "works" : told_trouble_);
  if (has_worked_ && !has_told_gap_ && !told_trouble_.empty()) {
    has_told_gap_ = true;
    base::say("sensor " + sensor_->name() + ": " + told_trouble_ + "; what it measures has a gap");
  }
}

void TierThread::set_rate(double hz) {
  hz_ = hz;
  rate_period_ns_ = hz != 0 ? period_of(hz) : 0;
}

bool TierThread::has_deadlines_of(double hz) const {
  return hz_ != 0 && period_of(hz) % rate_period_ns_ == 0;
}

void TierThread::add(std::unique_ptr<Sensor> sensor, double hz, TierThread& home) {
  const std::lock_guard lock(mutex_);
  is_warm_ = is_warm_ && has_ended_;
  add(SensorFeed(std::move(sensor), hz, home));
}

/// Called with the lock held.
void TierThread::add(SensorFeed feed) {
  added_.push_back(std::move(feed));
  has_added_.store(true, std::memory_order_release);
  // A tier without deadlines of its own may sleep for a second.
  if (!has_ended_ && !is_counted()) {
    timer_.wake();
  }
}

void TierThread::take_added() {
  if (!has_added_.load(std::memory_order_acquire)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (SensorFeed& feed : added_) {
    const auto first_guest =
        std::find_if(feeds_.begin(), feeds_.end(), [this](const SensorFeed& other) { return &other.home() != this; });
    feeds_.insert(&feed.home() == this ? first_guest : feeds_.end(), std::move(feed));
  }
  added_.clear();
  has_added_.store(false, std::memory_order_relaxed);
}

/// Called from another tier's thread.
void TierThread::take_over(SensorFeed feed) {
  // Until then the collector has taken that thread's samples, so that a metric's samples stay in their order.
  constexpr std::int64_t pause_ns = 200'000'000;
  const std::lock_guard lock(mutex_);
  feed.deadline_ns = base::monotonic_now_ns() + pause_ns;
  add(std::move(feed));
}

/// Returns guests with large sources, such as a thousand interfaces, because they would make this tier late.
void TierThread::send_home_slow_guests() {
  constexpr unsigned most_slow_reads = 3;
  for (std::size_t i = feeds_.size(); i-- > 0 && &feeds_[i].home() != this;) {
    if (feeds_[i].slow_reads >= most_slow_reads) {
      feeds_[i].home().take_over(std::move(feeds_[i]));
      feeds_.erase(feeds_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void TierThread::start(SamplingState& state) {
  ticks_ = 0;
  missed_ = 0;
  take_added();
  is_warm_ = hz_ == 0 && feeds_.empty() && !state.has_own_rates;
  if (is_warm_) {
    return;
  }
  // Deadlines of the fast tier are counted. The other tiers use their sensors' deadlines and keep their own account.
  period_ns_ = is_counted() ? rate_period_ns_ : second_ns;
  {
    const std::lock_guard lock(mutex_);
    timer_.open();
    has_ended_ = false;
  }
  try {
    thread_ = base::OwnThread([this, &state] {
      try {
        run(state);
      } catch (const std::exception&) {
        base::say("no memory for the sampler: one of its tiers has ended");
        is_warm_ = true;
      }
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
      has_ticked_.notify_all();
    });
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    base::say(std::string("no thread for the sampler's ") + name_of(tier_) + " tier: it is not sampled");
    is_warm_ = true;
  }
}

void TierThread::join() noexcept {
  if (thread_.joinable()) {
    timer_.wake();
    thread_.join();
  }
  const std::lock_guard lock(mutex_);
  timer_.close();
}

bool TierThread::wait_for_end(std::chrono::nanoseconds timeout) noexcept {
  if (!thread_.joinable()) {
    return true;
  }
  timer_.wake();
  std::unique_lock lock(mutex_);
  return has_ticked_.wait_for(lock, timeout, [this] { return has_ended_; });
}

bool TierThread::wait_for_ticks(std::uint64_t count, std::chrono::nanoseconds timeout) const {
  std::unique_lock lock(mutex_);
  return has_ticked_.wait_for(lock, timeout, [&] { return ticks() >= count; });
}

bool TierThread::wait_until_warm(std::chrono::nanoseconds timeout) const {
  std::unique_lock lock(mutex_);
  return has_ticked_.wait_for(lock, timeout, [&] { return is_warm_.load(); });
}

std::int64_t TierThread::next_deadline_ns() const {
  std::int64_t next_ns = deadline_ns_;
  for (const SensorFeed& feed : feeds_) {
    next_ns = std::min(next_ns, feed.deadline_ns);
  }
  return next_ns;
}

std::int64_t TierThread::deadline_after(std::int64_t deadline_ns) const {
  std::int64_t after_ns = deadline_ns_ > deadline_ns ? deadline_ns_ : deadline_ns_ + period_ns_;
  for (const SensorFeed& feed : feeds_) {
    after_ns =
        std::min(after_ns, feed.deadline_ns > deadline_ns ? feed.deadline_ns : feed.deadline_ns + feed.period_ns);
  }
  return after_ns;
}

void TierThread::run(SamplingState& state) {
  set_up_thread(tier_, state.cpus);
  prepare_thread();
  if (tier_ == state.first_tier) {
    state.make_sensors();
  }
  const std::int64_t start_ns = base::monotonic_now_ns();
  deadline_ns_ = start_ns;
  cost_time_ns_ = start_ns;
  cost_cpu_ns_ = base::thread_cpu_ns();
  for (SensorFeed& feed : feeds_) {
    feed.deadline_ns = start_ns;
  }
  if (tier_ == state.claiming_tier) {
    state.claim_machine();
  }
  std::int64_t next_ns = start_ns;
  while (timer_.sleep_until(state.stop, next_ns, deadline_after(next_ns))) {
    tick(state, base::monotonic_now_ns());
    next_ns = next_deadline_ns();
  }
  record_cost(base::monotonic_now_ns());
}

void TierThread::sample_feeds(std::int64_t now_ns) {
  // Samples of one deadline share a time, which makes them cheap to write and small to store. Slow reads get their own
  // time.
  constexpr std::int64_t longest_shared_ns = 50'000;
  std::int64_t first_ns = base::monotonic_now_ns();
  std::int64_t read_ns = first_ns;
  const auto record = [&] {
    record_samples(samples_.data(), samples_.size());
    samples_.clear();
    first_ns = read_ns;
  };
  for (SensorFeed& feed : feeds_) {
    if (feed.deadline_ns == 0) {
      feed.deadline_ns = is_counted() ? deadline_ns_ : now_ns;
    }
    if (feed.deadline_ns > now_ns) {
      continue;
    }
    if (feed.read_ns() > longest_shared_ns) {
      record();
    }
    feed.sample(read_ns, samples_);
    read_ns += feed.read_ns();
    if (read_ns - first_ns > longest_shared_ns) {
      record();
    }
  }
  record();
}

void TierThread::tick(SamplingState& state, std::int64_t now_ns) {
  latest_ns_ = std::max(latest_ns_, now_ns - next_deadline_ns());
  const bool is_due = deadline_ns_ <= now_ns;
  if (is_due || !is_counted()) {
    take_added();
  }
  sample_feeds(now_ns);
  const std::int64_t end_ns = base::monotonic_now_ns();
  advance_feeds(now_ns, end_ns);
  if (is_due) {
    const std::uint64_t missed = advance(deadline_ns_, period_ns_, end_ns);
    miss(*this, period_ns_, is_counted() ? missed : 0);
  }
  count_missed();
  if (is_due) {
    const std::uint64_t ticks = ticks_.fetch_add(1, std::memory_order_release) + 1;
    if (ticks <= 16) {
      const std::lock_guard lock(mutex_);
      has_ticked_.notify_all();
    }
  }
  if (!is_warm_ && std::all_of(feeds_.begin(), feeds_.end(), [](const SensorFeed& feed) { return feed.is_warm(); })) {
    const std::lock_guard lock(mutex_);
    is_warm_ = added_.empty();
    has_ticked_.notify_all();
  }
  if (end_ns - cost_time_ns_ >= second_ns) {
    record_cost(end_ns);
    if (tier_ == state.claiming_tier) {
      state.claim_machine();
    }
  }
}

void TierThread::advance_feeds(std::int64_t now_ns, std::int64_t end_ns) {
  std::int64_t guests_ns = 0;
  bool has_slow_guest = false;
  for (SensorFeed& feed : feeds_) {
    if (feed.deadline_ns > now_ns) {
      continue;
    }
    TierThread& home = feed.home();
    miss(home, feed.period_ns, feed.advance(end_ns));
    if (&home != this) {
      // All guests together get half a period. A tier that is off has no thread to take them back.
      guests_ns += feed.read_ns();
      const bool is_slow = home.hz_ != 0 && guests_ns > period_ns_ / 2;
      feed.slow_reads = is_slow ? feed.slow_reads + 1 : 0;
      has_slow_guest |= is_slow;
    }
  }
  if (has_slow_guest) {
    send_home_slow_guests();
  }
}

/// Deadlines of one period coincide, and those of a multiple of it are among them: each time counts once.
void TierThread::miss(TierThread& home, std::int64_t period_ns, std::uint64_t count) {
  if (count == 0) {
    return;
  }
  for (Missed& other : missed_now_) {
    if (other.home == &home && (period_ns % other.period_ns == 0 || other.period_ns % period_ns == 0)) {
      other.count = std::max(other.count, count);
      return;
    }
  }
  missed_now_.push_back({&home, period_ns, count});
}

void TierThread::count_missed() {
  for (const Missed& missed : missed_now_) {
    missed.home->missed_.fetch_add(missed.count, std::memory_order_release);
  }
  missed_now_.clear();
}

void TierThread::record_cost(std::int64_t now_ns) {
  const std::int64_t cpu_ns = base::thread_cpu_ns();
  const auto id = [this](std::string_view name, std::string_view unit, MetricKind kind, std::string_view source,
                         double step, std::int64_t window_ns) {
    MetricDeclaration metric = describe(name, unit, source, kind, step);
    metric.labels = {{"tier", name_of(tier_)}};
    metric.window_ns = window_ns;
    return declare(metric, labels_);
  };
  if (!cost_ids_[0]) {
    cost_ids_ = {id("sampler_cpu", "%", MetricKind::gauge, "CLOCK_THREAD_CPUTIME_ID", 0.001, second_ns),
                 id("sampler_lateness", "ms", MetricKind::gauge, "CLOCK_MONOTONIC", 0.001, second_ns),
                 id("sampler_missed_deadlines", "", MetricKind::counter, "CLOCK_MONOTONIC", 1, 0)};
  }
  if (now_ns > cost_time_ns_) {
    const double share = static_cast<double>(cpu_ns - cost_cpu_ns_) / static_cast<double>(now_ns - cost_time_ns_);
    const std::int64_t latest_us = latest_ns_ / 1000;
    const std::array<MetricSample, 3> samples{{{cost_ids_[0], 0, std::round(share * 1e5) / 1e3},
                                               {cost_ids_[1], 0, static_cast<double>(latest_us) / 1e3},
                                               {cost_ids_[2], 0, static_cast<double>(missed_deadlines())}}};
    record_samples(samples.data(), samples.size());
  }
  cost_time_ns_ = now_ns;
  cost_cpu_ns_ = cpu_ns;
  latest_ns_ = 0;
}

}  // namespace kymo::sense
