// Lays the time of instances along their critical paths: each nanosecond gets one owner, and the owners' times add up
// to the instance's duration exactly.
//
// The path runs through the thread's scopes. Where the thread waits for a lock, it goes on in the thread that holds it;
// where a flow ends the wait, in the thread that sends it; where a queue's span ends with the wait, in the queue; where
// the kernel said who ended it, in that thread. Run states, where recorded, tell computing from being pushed off the
// CPU and from being blocked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/paths/instances.hpp"
#include "stats/paths/owners.hpp"

namespace kymo::stats {

/// An owner's part of an instance.
struct OwnedTime {
  std::int64_t duration_ns = 0;
  std::uint64_t calls = 0;  ///< computing: scopes that began on the path
};

/// Values of one argument of one subject's scopes in an instance.
struct ArgumentValues {
  double sum = 0;                                ///< of the numbers
  std::uint64_t count = 0;                       ///< of numbers
  std::map<std::uint32_t, std::uint64_t> texts;  ///< how often each came, by its index in CriticalPaths::texts
  std::uint64_t text_count = 0;                  ///< of texts and truth values
};

/// So many different texts of an argument are kept; the others count as `other_text`.
constexpr std::size_t most_texts = 64;
constexpr std::uint32_t other_text = 0xFFFFFFFE;

/// A stretch on the path in which a thread did not run.
struct Delay {
  TimeRange range;
  Actor actor;
  std::optional<std::uint32_t> cpu;  ///< that it was pushed off; none: that on which it goes on
  OwnerId owner = 0;
  std::uint32_t instance = 0;
};

/// What a sampled stack has of an owner in an instance: a sample that found its thread on a CPU, or a part of a wait.
struct SampledStack {
  std::uint32_t instance = 0;
  OwnerId owner = 0;
  std::uint32_t stack = 0;  ///< its number in a StackTree
  double amount = 0;        ///< of owners that compute 1, of those that are blocked nanoseconds
};

/// The path of one instance.
struct CriticalPath {
  std::unordered_map<OwnerId, OwnedTime> parts;
  std::map<std::pair<SubjectId, NameId>, ArgumentValues> arguments;
};

struct CriticalPaths {
  std::vector<CriticalPath> paths;   ///< of the instances, in their order
  std::vector<Delay> delays;         ///< in which it could have: pushed off, or what it waited for had come
  std::vector<Delay> waits;          ///< in which it was blocked, by nobody who is known
  std::vector<SampledStack> stacks;  ///< of all that compute or are blocked, as far as they were sampled
  bool is_cut = false;               ///< not all hand-overs could be kept: some waits have no further owner
  std::vector<std::string> texts;    ///< values of arguments, truth values as "true" and "false"
  std::set<std::pair<SubjectId, SubjectId>> around;  ///< scopes, each with one that was open around it; 0: none
  double slow_clock_mhz = 0;                         ///< where parts belong to a lower clock (clock.hpp)
  double usual_clock_mhz = 0;
};

/// Waits are followed through so many threads; what lies beyond is owned by the last wait.
constexpr std::size_t most_waits_followed = 6;
constexpr std::size_t most_delays = 100'000;  ///< as many waits

/// The paths of instances, in ascending order of start. A pass over the blocks around the instances for each thread
/// that waits follow one another through. Memory grows with the instances and their waits, not with their scopes.
[[nodiscard]] CriticalPaths find_critical_paths(const Timeline& timeline, const std::vector<Instance>& instances,
                                                OwnerTable& owners,
                                                const std::function<void(double)>& on_progress = nullptr);

}  // namespace kymo::stats
