// What processes have in shared memory or left there when they died.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "capture/spool_file.hpp"

namespace kymo::capture {

/// A spool, or the ring of a flight recorder whose spool is gone.
struct Leftover {
  enum class State {
    living,      ///< its process runs
    unwritten,   ///< holds events that its capture lacks
    covered,     ///< everything in it is in a file, or it was never used: nobody needs it
    no_capture,  ///< the capture that it belongs to is not where it was
    unreadable,  ///< of another version, damaged, or it cannot be opened
    foreign      ///< another user's
  };
  std::string path;
  std::string capture;  ///< absolute path; empty where it names none
  uid_t owner = 0;
  std::uint64_t pid = 0;    ///< 0: it does not say
  std::uint64_t bytes = 0;  ///< of memory that it takes
  std::int64_t age_s = 0;   ///< since it was made or last changed
  State state = State::foreign;
  std::uint64_t scope_events = 0;  ///< unwritten: those that the capture lacks
  std::string note;                ///< why it is unreadable
};

[[nodiscard]] const char* name_of(Leftover::State state);

/// Looks at all of them below a directory of shared memory. Reads, changes nothing.
[[nodiscard]] std::vector<Leftover> list_leftovers(const std::string& directory = shared_memory);

/// Deletes what nobody needs and folds unwritten events into their captures, which are closed by it. `is_forced`:
/// deletes also what has no capture any more. Whether it is gone; `leftover.note` says why not where it should be.
bool clear_leftover(Leftover& leftover, bool is_forced, const std::string& directory = shared_memory);

}  // namespace kymo::capture
