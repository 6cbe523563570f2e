// Spool files: finding a capture's spool, checking access, and finding out whether the capture's process is alive.
#pragma once

#include <string>

#include <sys/types.h>

#include <kymo/capture.hpp>

#include "base/system/file.hpp"
#include "base/system/system.hpp"

namespace kymo::capture {

/// Default directory of spools; tests use others.
inline constexpr const char* shared_memory = "/dev/shm";

/// A spool file in a directory of shared memory, as far as this process may read it. Anybody may put a file of any name
/// there. Files are skipped unless they are plain files of this user, of the capture's owner or of root.
struct SpoolFile {
  enum class State {
    absent,
    dead,       ///< `file` is open
    living,     ///< its process runs
    unreadable  ///< it exists or may exist; `trouble` gives the reason for the doubt
  };
  State state = State::absent;
  std::string path;
  std::string trouble;
  base::FileDescriptor file;
};

/// No user other than the caller.
inline constexpr auto this_user = static_cast<uid_t>(-1);

/// Finds the spool with an id. `owner`: the capture's owner.
[[nodiscard]] SpoolFile find_spool_file(const std::string& id, const std::string& directory = shared_memory,
                                        uid_t owner = this_user);

/// The same by its path.
[[nodiscard]] SpoolFile open_spool_file(const std::string& path, uid_t owner = this_user);

/// Whether a capture's file of this size ends with the trailer: it was closed, and nothing will be appended.
[[nodiscard]] bool ends_in_trailer(int file, std::uint64_t size);

/// Knowledge about a capture's writer. `closed`: it closed the capture since the reader last looked.
struct WriterState {
  enum class Kind { gone, living, closed, unknown };
  Kind kind = Kind::gone;
  std::string why;  ///< if living or unknown
};

/// Whether anybody writes a capture, judged by its lock, its spool's lock and, if these are inconclusive, its process.
/// `unknown` if the file is on a network file system and was begun elsewhere, or the writer is not visible from here.
[[nodiscard]] WriterState find_writer(const CaptureReader& capture, const std::string& spool_directory = shared_memory);

/// Whether the process that writes a capture is known to be alive.
[[nodiscard]] bool is_being_written(const CaptureReader& capture);

/// A fact of the capture's first process; empty if absent.
[[nodiscard]] std::string fact_of(const CaptureReader& capture, const char* key);

/// base::pid_namespace() as a fact; empty if unknown.
[[nodiscard]] inline std::string own_pid_namespace() {
  const std::uint64_t number = base::pid_namespace();
  return number != 0 ? std::to_string(number) : std::string();
}

/// Keys of facts used by recovery. The device is that of the spool's tmpfs, or one of these words.
inline constexpr const char* spool_device_key = "recovery.spool_device";
inline constexpr const char* pid_namespace_key = "recovery.pid_namespace";
inline constexpr const char* held_memory = "memfd";
inline constexpr const char* private_memory = "private";

}  // namespace kymo::capture
