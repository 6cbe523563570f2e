// One tier of the sampler: its sensors, its thread, its deadlines.
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
#include <thread>
#include <vector>

#include <kymo/metric.hpp>
#include <kymo/sampler.hpp>

#include "sense/deadline_timer.hpp"
#include "sense/sensor.hpp"
#include "sense/stop_signal.hpp"

namespace kymo::sense {

[[nodiscard]] const char* name_of(Tier tier);

/// "100", "0.5".
[[nodiscard]] std::string rate_text(double hz);

/// What the tiers of one sampler share.
struct SamplingState {
  StopSignal stop;
  std::function<void()> claim_machine;  ///< adds the machine's sensors once nobody else samples it; for one thread
  Tier claiming_tier = Tier::slow;      ///< whose thread calls claim_machine(), once a second
  std::vector<int> cpus;
};

class TierThread;

/// A sensor on its way into the recorder: when it is due, and which ids its metrics have.
class SensorFeed {
 public:
  /// `home`: the tier that the sensor belongs to.
  SensorFeed(std::unique_ptr<Sensor> sensor, double hz, TierThread& home);

  /// Reads the sensor and appends what it gave.
  void sample(std::int64_t now_ns, std::vector<MetricSample>& samples);
  /// How long the last read took.
  [[nodiscard]] std::int64_t read_ns() const { return read_ns_; }
  /// Moves the deadline to the next one that is not over yet, nor before the sensor has something to say; how many were
  /// missed.
  std::uint64_t advance(std::int64_t now_ns);
  [[nodiscard]] TierThread& home() const { return *home_; }

  std::int64_t period_ns;
  std::int64_t deadline_ns = 0;  ///< 0: at once
  unsigned slow_reads = 0;       ///< in a row, as a guest of another tier's thread

 private:
  void describe_anew(std::int64_t now_ns);
  void tell_trouble();

  std::unique_ptr<Sensor> sensor_;
  TierThread* home_;
  std::vector<MetricId> ids_;  // by index of the metric; 0: not declared yet
  std::int64_t read_ns_ = 0;
  std::uint64_t described_ = 0;           // the sensor's description_count() when its metrics were described last
  std::int64_t next_description_ns_ = 0;  // descriptions take room in the pool: not more often than this
  unsigned descriptions_ = 0;
  std::string told_trouble_;
  bool has_worked_ = false;
  bool has_told_gap_ = false;
};

class TierThread {
 public:
  explicit TierThread(Tier tier) : tier_(tier) {}
  TierThread(const TierThread&) = delete;
  TierThread& operator=(const TierThread&) = delete;
  ~TierThread() = default;

  /// Before start().
  void set_rate(double hz);
  /// The thread takes the sensor over within a second. Thread safe.
  void add(std::unique_ptr<Sensor> sensor, double hz) { add(std::move(sensor), hz, *this); }
  /// The same for a sensor of another tier, which outlives this thread: as long as it is quick it is read along with
  /// those of this tier, without a wake-up of its own.
  void add(std::unique_ptr<Sensor> sensor, double hz, TierThread& home);
  /// Whether each deadline at such a rate is one of this tier as well.
  [[nodiscard]] bool has_deadlines_of(double hz) const;

  /// Starts the thread where the tier is on or has sensors. `state` outlives it.
  void start(SamplingState& state);
  void join() noexcept;

  [[nodiscard]] Tier tier() const { return tier_; }
  [[nodiscard]] double hz() const { return hz_; }
  /// Deadlines kept since the start.
  [[nodiscard]] std::uint64_t ticks() const noexcept { return ticks_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t missed_deadlines() const noexcept { return missed_.load(std::memory_order_acquire); }
  [[nodiscard]] bool wait_for_ticks(std::uint64_t count, std::chrono::nanoseconds timeout) const;

 private:
  void run(SamplingState& state);
  void tick(SamplingState& state, std::int64_t now_ns);
  void sample_feeds(std::int64_t now_ns);
  void take_added();
  void take_over(SensorFeed feed);
  void send_home_slow_guests();
  void advance_feeds(std::int64_t now_ns, std::int64_t end_ns);
  /// Whether the tier has deadlines of its own, which are counted. Others go by those of their sensors.
  [[nodiscard]] bool is_counted() const { return hz_ != 0 && tier_ == Tier::fast; }
  [[nodiscard]] std::int64_t next_deadline_ns() const;
  [[nodiscard]] std::int64_t deadline_after(std::int64_t deadline_ns) const;
  void keep_account(SamplingState& state, std::int64_t now_ns);
  void record_cost(std::int64_t now_ns);

  Tier tier_;
  double hz_ = 0;
  std::int64_t rate_period_ns_ = 0;  // 0: off
  std::vector<SensorFeed> feeds_;    // of the thread while it runs; those of the tier itself come first
  DeadlineTimer timer_;
  std::vector<MetricSample> samples_;
  std::vector<SensorFeed> added_;  // guarded by mutex_
  std::atomic<bool> has_added_{false};
  std::thread thread_;
  std::int64_t period_ns_ = 0;
  std::int64_t deadline_ns_ = 0;  // of the tier itself: for a tier that is not counted, when it keeps its account
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::int64_t latest_ns_ = 0;  // greatest lateness since the cost was recorded last
  std::int64_t cost_time_ns_ = 0;
  std::int64_t cost_cpu_ns_ = 0;
  std::array<MetricId, 3> cost_ids_{};
  mutable std::mutex mutex_;
  mutable std::condition_variable has_ticked_;
};

}  // namespace kymo::sense
