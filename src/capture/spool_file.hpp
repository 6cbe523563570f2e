// Spools as files: which one is a capture's, who may look at it, and whether the process behind a capture is alive.
#pragma once

#include <string>

#include <sys/stat.h>
#include <sys/types.h>

#include <kymo/capture.hpp>

#include "base/file.hpp"

namespace kymo::capture {

/// Where spools are, unless a test says otherwise.
inline constexpr const char* shared_memory = "/dev/shm";

/// A spool's file below a directory of shared memory, as far as this process may look at it. Anybody may put a file of
/// any name there: one that is not a plain file of this user, of the capture's owner or of root is passed over.
struct SpoolFile {
  enum class State {
    absent,
    dead,       ///< `file` is open
    living,     ///< its process runs
    unreadable  ///< it is there, or may be; `trouble` says why it is not known
  };
  State state = State::absent;
  std::string path;
  std::string trouble;
  base::FileDescriptor file;
};

/// No other user than the one who asks.
inline constexpr auto this_user = static_cast<uid_t>(-1);

/// Finds the spool with an id. `owner`: the user that the capture belongs to.
[[nodiscard]] SpoolFile find_spool_file(const std::string& id, const std::string& directory = shared_memory,
                                        uid_t owner = this_user);

/// The same by its path.
[[nodiscard]] SpoolFile open_spool_file(const std::string& path, uid_t owner = this_user);

/// What is known of who writes a capture.
struct WriterState {
  enum class Kind { gone, living, unknown };
  Kind kind = Kind::gone;
  std::string why;  ///< where it is living or unknown
};

/// Whether anybody writes a capture: its lock, its spool's lock, and where these cannot tell, its process. `unknown`
/// where the file is on a network's file system and was begun elsewhere, or the writer cannot be seen from here.
[[nodiscard]] WriterState find_writer(const CaptureReader& capture, const std::string& spool_directory = shared_memory);

/// Whether the process that writes a capture is known to be alive.
[[nodiscard]] bool is_being_written(const CaptureReader& capture);

/// A fact of the capture's first process; empty where it does not say.
[[nodiscard]] std::string fact_of(const CaptureReader& capture, const char* key);

/// What tells namespaces of process ids apart.
[[nodiscard]] inline std::string own_pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : std::string();
}

/// Keys of facts that recovery goes by. The device is that of the tmpfs where the spool is, or one of these words.
inline constexpr const char* spool_device_key = "recovery.spool_device";
inline constexpr const char* pid_namespace_key = "recovery.pid_namespace";
inline constexpr const char* held_memory = "memfd";
inline constexpr const char* private_memory = "private";

}  // namespace kymo::capture
