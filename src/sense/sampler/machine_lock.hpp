// Decides which processes of a user sample the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/system/file.hpp"

namespace kymo::sense {

/// The meaning of KYMO_MACHINE and of `kymo record --machine`.
enum class MachineMode : std::uint8_t {
  recording,  ///< the variable is not set: one of the processes with the same KYMO_RECORD or KYMO_TRACE samples it
  own,        ///< this process samples it, whoever else does
  shared,     ///< one of all processes of the user samples it
  off,        ///< this process does not: another one of the same recording does, or nobody
};

/// The mode of a name, "own", "shared" or "off".
[[nodiscard]] std::optional<MachineMode> parse_machine_mode(std::string_view name);

/// What KYMO_MACHINE says. Warns if that is invalid.
[[nodiscard]] MachineMode machine_mode();

/// What all processes of this process's recording have in common: the absolute path in KYMO_RECORD, else in KYMO_TRACE,
/// before %p and the like are replaced. Empty if neither is set.
[[nodiscard]] std::string recording_group();

/// A record lock on a file in shared memory. The kernel releases it when the process ends, however that happens, and a
/// forked child does not inherit it. At most one object of a process holds it. Thread safe.
class MachineLock {
 public:
  /// For the machine below `root`, within a group of processes; the empty group is that of all the user's processes.
  explicit MachineLock(std::string_view root, std::string_view group = {});
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;
  ~MachineLock() { release(); }

  /// Whether this object holds the lock after the call. If the lock cannot be created at all, nobody can be kept from
  /// sampling, so the result is true. About 2 us.
  [[nodiscard]] bool try_acquire();
  void release();
  /// The process that holds it; 0: none, or this one.
  [[nodiscard]] pid_t holder() const;

 private:
  [[nodiscard]] bool open();

  std::string path_;
  off_t place_ = 0;  // the locked byte; the file is empty
  base::KnownFile file_;
};

}  // namespace kymo::sense
