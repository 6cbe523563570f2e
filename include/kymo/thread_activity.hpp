// What each thread did in all, as the kernel told it, whether or not it has scopes.
//
//     for (const kymo::ThreadActivity& thread : kymo::read_thread_activity(timeline)) {
//       use(thread.name, thread.times, thread.migrations, thread.minor_faults);
//     }
//
// docs/threads.md says where it comes from. Component kymo::analysis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kymo/statistics.hpp>
#include <kymo/thread_states.hpp>

namespace kymo {

/// One thread. What was not recorded is missing.
struct ThreadActivity {
  std::string name;  ///< the kernel's; empty: not known
  std::uint64_t pid = 0;
  std::uint64_t os_thread_id = 0;
  std::optional<RunTimes> times;              ///< as far as its states are known
  std::optional<std::uint64_t> migrations;    ///< KnownStates::migrations
  std::optional<std::uint64_t> minor_faults;  ///< page faults whose page was in memory, up to the last reading
  std::optional<std::uint64_t> major_faults;  ///< those whose page had to be read
};

/// The threads of a part of a timeline by descending CPU time; sites do not select. One pass over run states and
/// samples. Throws as read_statistics() does.
[[nodiscard]] KYMO_API std::vector<ThreadActivity> read_thread_activity(const Timeline& timeline,
                                                                        const SelectionOptions& part = {});

}  // namespace kymo
