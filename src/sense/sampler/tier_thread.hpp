// One tier of the sampler: its sensors, thread and deadlines.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kymo/metric.hpp>
#include <kymo/sampler.hpp>

#include "base/system/own_thread.hpp"
#include "sense/common/sensor.hpp"
#include "sense/sampler/deadline_timer.hpp"
#include "sense/sampler/stop_signal.hpp"

namespace kymo::sense {

using Labels = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] const char* name_of(Tier tier);

/// Formats a rate: "100", "0.5".
[[nodiscard]] std::string rate_text(double hz);

/// State shared by the tiers of one sampler.
struct SamplingState {
  StopSignal stop;
  std::function<void()> make_sensors;  ///< adds the first sensors; the first tier's thread calls it before it samples
  Tier first_tier = Tier::slow;
  std::function<void()> claim_machine;  ///< adds the machine's sensors once nobody else samples it; one thread calls it
  Tier claiming_tier = Tier::slow;      ///< its thread calls claim_machine() once a second
  bool has_own_rates = false;           ///< a tier that is off may get sensors with rates of their own
  std::vector<int> cpus;
};

class TierThread;

/// Feeds a sensor's values to the recorder: keeps its deadline and the ids of its metrics.
class SensorFeed {
 public:
  /// `home`: the tier of the sensor.
  SensorFeed(std::unique_ptr<Sensor> sensor, double hz, TierThread& home);

  /// Reads the sensor and appends its values.
  void sample(std::int64_t now_ns, std::vector<MetricSample>& samples);
  /// Whether every metric has a value, or has had the time for its first one: two reads and two of its windows, a
  /// second at most. A metric whose source cannot be read gets none.
  [[nodiscard]] bool is_warm() const { return is_warm_; }
  /// Duration of the last read.
  [[nodiscard]] std::int64_t read_ns() const { return read_ns_; }
  /// Advances the deadline to the next one that has not passed and at which the sensor has new values. Returns how many
  /// were missed.
  std::uint64_t advance(std::int64_t now_ns);
  [[nodiscard]] TierThread& home() const { return *home_; }

  std::int64_t period_ns;
  std::int64_t deadline_ns = 0;  ///< 0: at once
  unsigned slow_reads = 0;       ///< consecutive ones, as a guest of another tier's thread

 private:
  void describe_anew(std::int64_t now_ns);
  void tell_trouble();
  void tell_facts();
  void warm_up(std::int64_t now_ns);

  std::unique_ptr<Sensor> sensor_;
  TierThread* home_;
  std::vector<MetricId> ids_;  // by index of the metric; 0: not declared yet
  std::int64_t read_ns_ = 0;
  bool is_warm_ = false;
  std::vector<bool> has_had_value_;  // by index of the metric, until all are warm
  std::int64_t first_read_ns_ = 0;
  unsigned reads_ = 0;
  std::uint64_t described_ = 0;           // the sensor's description_count() when its metrics were last described
  std::int64_t next_description_ns_ = 0;  // limits the rate of descriptions, which take room in the pool
  unsigned descriptions_ = 0;
  std::string told_trouble_;
  std::size_t told_facts_ = 0;
  bool has_worked_ = false;
  bool has_told_gap_ = false;
};

class TierThread {
 public:
  explicit TierThread(Tier tier) : tier_(tier) {}
  TierThread(const TierThread&) = delete;
  TierThread& operator=(const TierThread&) = delete;
  ~TierThread() = default;

  /// Call before start().
  void set_rate(double hz);
  /// Labels for every metric. Call before start().
  void set_labels(Labels labels) { labels_ = std::move(labels); }
  [[nodiscard]] const Labels& labels() const { return labels_; }
  /// Adds a sensor. The thread starts to read it at its next deadline, or at once if the tier has none of its own.
  /// Thread safe.
  void add(std::unique_ptr<Sensor> sensor, double hz) { add(std::move(sensor), hz, *this); }
  /// Adds a sensor of another tier, which outlives this thread. While it is quick it is read along with this tier's
  /// sensors and needs no wake-up of its own.
  void add(std::unique_ptr<Sensor> sensor, double hz, TierThread& home);
  /// Whether each deadline at that rate is one of this tier as well.
  [[nodiscard]] bool has_deadlines_of(double hz) const;

  /// Starts the thread if the tier is on, or has sensors or may get some. `state` must outlive it.
  void start(SamplingState& state);
  void join() noexcept;
  /// Wakes the thread, whose stop signal was raised, and waits until it is about to end. False if a read has not
  /// returned by then.
  [[nodiscard]] bool wait_for_end(std::chrono::nanoseconds timeout) noexcept;

  [[nodiscard]] Tier tier() const { return tier_; }
  [[nodiscard]] double hz() const { return hz_; }
  /// Number of deadlines met since the start.
  [[nodiscard]] std::uint64_t ticks() const noexcept { return ticks_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t missed_deadlines() const noexcept { return missed_.load(std::memory_order_acquire); }
  [[nodiscard]] bool wait_for_ticks(std::uint64_t count, std::chrono::nanoseconds timeout) const;
  /// Waits until all its sensors are warm, those that it has got since its start too; at once without a thread.
  [[nodiscard]] bool wait_until_warm(std::chrono::nanoseconds timeout) const;

 private:
  void run(SamplingState& state);
  void tick(SamplingState& state, std::int64_t now_ns);
  void sample_feeds(std::int64_t now_ns);
  void take_added();
  void take_over(SensorFeed feed);
  void add(SensorFeed feed);
  void send_home_slow_guests();
  void advance_feeds(std::int64_t now_ns, std::int64_t end_ns);
  /// Whether the tier has its own deadlines, which are counted. Other tiers use those of their sensors.
  [[nodiscard]] bool is_counted() const { return hz_ != 0 && tier_ == Tier::fast; }
  [[nodiscard]] std::int64_t next_deadline_ns() const;
  [[nodiscard]] std::int64_t deadline_after(std::int64_t deadline_ns) const;
  void record_cost(std::int64_t now_ns);
  void miss(TierThread& home, std::int64_t period_ns, std::uint64_t count);
  void count_missed();

  /// Deadlines that passed during a tick.
  struct Missed {
    TierThread* home;
    std::int64_t period_ns;
    std::uint64_t count;
  };

  Tier tier_;
  Labels labels_;
  double hz_ = 0;
  std::int64_t rate_period_ns_ = 0;  // 0: off
  std::vector<SensorFeed> feeds_;    // of the thread while it runs; the tier's own sensors come first
  DeadlineTimer timer_;
  std::vector<MetricSample> samples_;
  std::vector<SensorFeed> added_;  // guarded by mutex_
  std::atomic<bool> has_added_{false};
  base::OwnThread thread_;
  bool has_ended_ = true;  // guarded by mutex_
  std::int64_t period_ns_ = 0;
  std::int64_t deadline_ns_ = 0;  // of the tier itself; for a tier that is not counted, when it keeps its account
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<bool> is_warm_{true};
  std::atomic<std::uint64_t> missed_{0};
  std::vector<Missed> missed_now_;
  std::int64_t latest_ns_ = 0;  // maximum lateness since the cost was last recorded
  std::int64_t cost_time_ns_ = 0;
  std::int64_t cost_cpu_ns_ = 0;
  std::array<MetricId, 3> cost_ids_{};
  mutable std::mutex mutex_;
  mutable std::condition_variable has_ticked_;  // or has ended
};

}  // namespace kymo::sense
