// The seeded load behind all stated sizes and speeds of captures:
//
// - four threads, scopes up to six deep, 40 random sites,
// - log-normal durations (median 0.7 us, sigma 1),
// - log-normal gaps (median 60 ns, sigma 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::benchmarks {

/// Produces batches like the collector's. The same seed gives the same batches.
///
/// A scope draws its own working time and up to three children, fewer than six deep. A gap precedes each scope.
/// Children come first, then the scope's own work, then its close.
class ScopeGenerator {
 public:
  static constexpr std::size_t thread_count = 4;
  static constexpr std::size_t site_count = 40;
  static constexpr std::size_t max_depth = 6;

  explicit ScopeGenerator(std::uint64_t seed);

  /// Fills `batch` with the next `events` scope events, an equal share per thread. The first batch includes the
  /// declarations. Reuses the batch's memory.
  void next(EventBatch& batch, std::size_t events = 131072);

  /// Scopes opened so far.
  [[nodiscard]] std::uint64_t scopes() const { return scopes_; }

 private:
  struct Frame {
    std::int64_t start_ns = 0;
    std::int64_t own_ns = 0;
    SiteId site;
    unsigned children_left = 0;
  };
  struct Thread {
    std::uint64_t random = 0;
    std::int64_t time_ns = 0;
    std::uint64_t sequence = 0;
    std::vector<Frame> stack;
  };

  void step(Thread& thread, ScopeRun& run);
  static Declarations declare();

  std::vector<Thread> threads_;
  bool declared_ = false;
  std::uint64_t scopes_ = 0;
};

}  // namespace kymo::benchmarks
