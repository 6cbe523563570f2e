// The threads whose stacks were sampled, for the formats of stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// Of a longer stack, which only a damaged capture has, the outer functions are left out.
inline constexpr std::size_t most_functions_of_stack = std::size_t{1} << 13U;

/// Throws ExchangeError if the timeline has no sampled stacks.
void require_samples(const Timeline& timeline);

/// What an export leaves out that has no place for sums of waits; empty if nothing.
[[nodiscard]] std::vector<std::string> waits_left_out(std::uint64_t unsampled_ns);

class SampledThreads {
 public:
  /// The timeline must outlive this.
  explicit SampledThreads(const Timeline& timeline) : timeline_(timeline) {}

  /// Without numbers and name if the declaration is lost.
  [[nodiscard]] const ThreadDeclaration& declared(ThreadId thread) const;
  /// "worker", "thread 4711".
  [[nodiscard]] std::string name_of(ThreadId thread) const;
  /// The CPU time between two samples of a thread; 0: unknown, or not the same everywhere.
  [[nodiscard]] std::int64_t period_ns() const;

 private:
  const Timeline& timeline_;
};

}  // namespace kymo::exchange
