// Spools and rings of processes in shared memory, including those of dead processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "capture/recover/spool_file.hpp"

namespace kymo::capture {

/// A spool, or the ring of a flight recorder whose spool is gone.
struct Leftover {
  enum class State {
    living,      ///< its process runs
    unwritten,   ///< holds events that its capture lacks
    covered,     ///< a file has everything in it, or it was never used: not needed
    no_capture,  ///< its capture is missing or was moved
    unreadable,  ///< of another version, damaged, or not accessible
    foreign      ///< another user's
  };
  std::string path;
  std::string capture;  ///< absolute path; empty if it names none
  uid_t owner = 0;
  std::uint64_t pid = 0;    ///< 0: unknown
  std::uint64_t bytes = 0;  ///< memory that it occupies
  std::int64_t age_s = 0;   ///< since its creation or last change
  State state = State::foreign;
  std::uint64_t scope_events = 0;  ///< for unwritten: those that the capture lacks
  std::string note;                ///< why it is unreadable
};

[[nodiscard]] const char* name_of(Leftover::State state);

/// Lists all of them in a directory of shared memory. Read-only.
[[nodiscard]] std::vector<Leftover> list_leftovers(const std::string& directory = shared_memory);

/// Deletes leftovers that are not needed. Adds unwritten events to their capture, which closes it. With `is_forced`
/// also deletes leftovers without a capture. Returns whether it is gone; otherwise `leftover.note` gives the reason for
/// a failure.
bool clear_leftover(Leftover& leftover, bool is_forced, const std::string& directory = shared_memory);

}  // namespace kymo::capture
