// What each thread did in all, as the kernel told it, whether or not it has scopes; and what threads did in scopes.
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

/// What threads did in those of a site's completed scopes in which their run states are known throughout.
struct SiteRunTimes {
  std::uint64_t scopes = 0;
  std::int64_t total_ns = 0;  ///< their durations
  RunTimes times;             ///< add up to total_ns
};

/// A row for each site of read_statistics() with these arguments. None if no run states were recorded. Costs a pass
/// over the timeline.
[[nodiscard]] KYMO_API std::vector<SiteRunTimes> read_run_times(const Timeline& timeline, const Statistics& statistics,
                                                                const SelectionOptions& part = {},
                                                                bool by_process = false);

}  // namespace kymo
