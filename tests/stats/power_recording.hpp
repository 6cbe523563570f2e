// Made-up captures of scopes and power samples, and power whose energy is known.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "support/nanoseconds.hpp"

namespace kymo::test {

/// Watts over time with the energy since time 0 in closed form.
struct TruePower {
  double constant = 0;
  double slope = 0;  ///< watts a second
  double swing = 0;  ///< of a sine
  double swing_hz = 1;
  double square = 0;  ///< is on in the second half of each period
  double square_s = 1;

  [[nodiscard]] double watts(std::int64_t time_ns) const;
  [[nodiscard]] double joules(std::int64_t time_ns) const;
  [[nodiscard]] double between(std::int64_t start_ns, std::int64_t end_ns) const {
    return joules(end_ns) - joules(start_ns);
  }
};

/// What a sampler reads of a power.
struct SamplingOptions {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 10 * second;
  std::int64_t period_ns = 10 * ms;  ///< of the samples
  std::int64_t renewal_ns = 0;       ///< of the source; 0: at every read
  std::int64_t jitter_ns = 0;        ///< of both
  std::uint32_t seed = 1;
};

/// Samples of a power gauge, or of an energy counter; repeats are marked stale.
[[nodiscard]] MetricSeries sample_power(const TruePower& power, const SamplingOptions& options);
[[nodiscard]] MetricSeries sample_energy(const TruePower& power, const SamplingOptions& options);

[[nodiscard]] MetricDeclaration energy_metric(std::string name = "cpu_energy",
                                              std::vector<std::pair<std::string, std::string>> labels = {
                                                  {"package", "0"}, {"domain", "package"}});
[[nodiscard]] MetricDeclaration power_metric(std::string name = "gpu_power",
                                             std::vector<std::pair<std::string, std::string>> labels = {{"gpu", "0"}});

/// Collects what happened and makes a capture of it.
class PowerRecording {
 public:
  void open(std::int64_t time_ns, TrackId thread, const std::string& site);
  void close(std::int64_t time_ns, TrackId thread);
  void scope(std::int64_t start_ns, std::int64_t end_ns, TrackId thread, const std::string& site) {
    open(start_ns, thread, site);
    close(end_ns, thread);
  }
  void gpu_span(std::int64_t start_ns, std::int64_t end_ns, const std::string& name);
  /// A wait for a lock, with its holder.
  void lock_wait(std::int64_t start_ns, std::int64_t end_ns, TrackId thread, const std::string& lock,
                 const std::string& holder) {
    const std::string site = "wait for " + lock + '\n' + holder;
    holders_[site] = holder;
    scope(start_ns, end_ns, thread, site);
  }
  /// What the track's thread did, by ascending time.
  void state(std::int64_t start_ns, std::int64_t end_ns, TrackId thread, RunState state) {
    states_[thread].push_back({start_ns, end_ns - start_ns, 0, state});
  }
  /// Makes a track that of a fiber. Scopes of that name on other tracks are its runs.
  void fiber(TrackId track, const std::string& name) { fibers_[track] = name; }
  void frame_mark(std::int64_t time_ns) { marks_.push_back(time_ns); }
  /// Events before it are missing.
  void frame_break(std::int64_t time_ns) { breaks_.push_back(time_ns); }
  void sync_point(std::int64_t time_ns) { syncs_.push_back(time_ns); }
  void metric(MetricDeclaration metric, const MetricSeries& series);

  /// In about so many blocks; every thread's events are cut at times of their own, as a collector does; with seed 0 all
  /// at the same.
  [[nodiscard]] Timeline make_timeline(unsigned blocks = 1, std::uint32_t seed = 1) const;

  [[nodiscard]] std::vector<std::byte> make_capture(unsigned blocks = 1, std::uint32_t seed = 1) const;

  /// By site name: the truth about the joules, inclusive and self, where threads share by number.
  struct TrueJoules {
    double inclusive = 0;
    double self = 0;
  };
  [[nodiscard]] std::map<std::string, TrueJoules> true_joules(const TruePower& power) const;

 private:
  struct Event {
    std::int64_t time_ns = 0;
    SiteId site;
  };

  SiteId site_of(const std::string& name);
  void declare(Declarations& declarations) const;
  [[nodiscard]] std::int64_t last_ns() const;

  std::vector<std::string> sites_;
  std::vector<std::string> span_names_;
  std::map<TrackId, std::vector<Event>> threads_;
  std::map<TrackId, std::vector<ThreadState>> states_;
  std::map<TrackId, std::string> fibers_;
  std::map<std::string, std::string> holders_;  // of waits, by the name in sites_
  std::vector<SpanEvent> spans_;
  std::vector<std::int64_t> marks_;
  std::vector<std::int64_t> breaks_;
  std::vector<std::int64_t> syncs_;
  std::vector<std::pair<MetricDeclaration, MetricSeries>> metrics_;
  mutable std::vector<std::vector<std::byte>> files_;
};

}  // namespace kymo::test
