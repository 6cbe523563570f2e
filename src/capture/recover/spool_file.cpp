#include "capture/recover/spool_file.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/system.hpp"
#include "capture/format/block.hpp"
#include "capture/write/destination.hpp"

namespace kymo::capture {

namespace {

namespace fs = std::filesystem;

/// Whether a process has mapped a file of this name. It owns the file then, even if it closed every descriptor of it
/// and so lost its lock. A program started by exec in its place has no such mapping.
bool has_mapped(const std::string& process, const std::string& name) {
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// The PID in "kymo-PID-ID.spool"; "0" for other names.
std::string pid_in_name(const std::string& name) {
  constexpr std::size_t begin = 5;
  const std::size_t end = name.find_first_not_of("0123456789", begin);
  return name.starts_with("kymo-") && end != std::string::npos && end != begin ? name.substr(begin, end - begin)
                                                                               : std::string("0");
}

WriterState unknown_writer(std::string why) {
  return {WriterState::Kind::unknown, std::move(why)};
}

WriterState unseen_writer(const std::string& process) {
  return unknown_writer(process + " runs, or ran, where its processes cannot be seen from here");
}

/// Judges the writer if neither lock is held.
WriterState judge_unlocked(const CaptureReader& capture, int file) {
  const std::uint64_t pid = capture.header().owner_pid;
  const auto& processes = capture.declarations().processes;
  if (pid == 0) {
    return {};  // a merge or similar, whose writer ends with the command
  }
  const std::string process = "process " + std::to_string(pid);
  if (processes.empty() || processes.front().boot_id.empty()) {
    return unknown_writer("it does not say on which machine " + process + " wrote it");
  }
  if (processes.front().boot_id != base::boot_id()) {
    // A file from another boot on a local disk is a copy, or its process ended with that boot.
    return file < 0 || base::is_shared_by_machines(file)
               ? unknown_writer(process + " of another machine or boot began it on a file system that machines share")
               : WriterState{};
  }
  const std::string device = fact_of(capture, spool_device_key);
  const bool is_visible = fact_of(capture, pid_namespace_key) == own_pid_namespace();
  if (!device.empty() && device != private_memory && file >= 0) {
    return {};  // its recorder locks the files that it writes
  }
  if (!is_visible) {
    // Seen through a layer below its own, a container's file does not show its lock.
    return unseen_writer(process);
  }
  return base::is_process(pid) ? unknown_writer(process + ", which began it, is still running") : WriterState{};
}

}  // namespace

SpoolFile open_spool_file(const std::string& path, uid_t owner) {
  SpoolFile found;
  found.path = path;
  const std::string name = path.substr(path.rfind('/') + 1);
  // Checked before the file is opened: closing another descriptor of it would release this process's own lock.
  if (has_mapped("self", name)) {
    found.state = SpoolFile::State::living;
    return found;
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      (status.st_uid != ::geteuid() && status.st_uid != owner && status.st_uid != 0)) {
    return found;
  }
  base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) {
    return found;
  }
  if (!file) {
    found.state = SpoolFile::State::unreadable;
    found.trouble = base::describe_errno("cannot open the spool", path, errno) +
                    (status.st_uid != ::geteuid() ? "; it is user " + std::to_string(status.st_uid) + "'s" : "");
    return found;
  }
  if (!base::is_file(file.get(), base::id_of(status))) {
    return found;
  }
  // An open file's lock belongs to a sweep or another recovery.
  const std::optional<int> holder = base::lock_holder(file.get(), 0);
  const bool is_living = (holder && *holder >= 0) || has_mapped(pid_in_name(name), name);
  found.state = is_living ? SpoolFile::State::living : SpoolFile::State::dead;
  found.file = std::move(file);
  return found;
}

SpoolFile find_spool_file(const std::string& id, const std::string& directory, uid_t owner) {
  SpoolFile best;
  if (id.empty() || id.find('/') != std::string::npos) {
    return best;
  }
  const std::string ending = "-" + id + ".spool";
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("kymo-") && name.ends_with(ending)) {
      SpoolFile found = open_spool_file(entry->path().string(), owner);
      if (found.state != SpoolFile::State::absent) {
        return found;
      }
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    best.state = SpoolFile::State::unreadable;
    best.path = directory;
    best.trouble = "cannot look for the spool in " + directory + ": " + error.message();
  }
  return best;
}

std::string fact_of(const CaptureReader& capture, const char* key) {
  const Declarations& declared = capture.declarations();
  for (const InfoDeclaration& info : declared.infos) {
    if (info.key == key && !declared.processes.empty() && info.process == declared.processes.front().id) {
      return info.value;
    }
  }
  return {};
}

bool ends_in_trailer(int file, std::uint64_t size) {
  std::array<std::byte, trailer_size> trailer{};
  return size >= preamble_size + trailer.size() &&
         base::read_fully_at(file, trailer, size - trailer.size()) == trailer.size() && parse_trailer(trailer);
}

WriterState find_writer(const CaptureReader& capture, const std::string& spool_directory) {
  if (capture.is_closed()) {
    return {};
  }
  const std::string process = capture.header().owner_pid == 0 ? std::string("another process")
                                                              : "process " + std::to_string(capture.header().owner_pid);
  WriterState living{WriterState::Kind::living, process + " is writing it"};
  const base::FileDescriptor file(::open(capture.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file && base::lock_holder(file.get(), writer_lock_byte)) {
    return living;
  }
  struct stat status {};
  const bool is_there = file && ::fstat(file.get(), &status) == 0;
  const uid_t owner = is_there ? status.st_uid : this_user;
  const SpoolFile spool = find_spool_file(capture.header().spool_id, spool_directory, owner);
  if (spool.state == SpoolFile::State::living) {
    return living;
  }
  if (is_there && ends_in_trailer(file.get(), static_cast<std::uint64_t>(status.st_size))) {
    return {WriterState::Kind::closed, ""};
  }
  if (spool.state == SpoolFile::State::dead) {
    // A process that closed all its descriptors holds no lock.
    const std::string in = fact_of(capture, pid_namespace_key);
    return in.empty() || in == own_pid_namespace() ? WriterState{} : unseen_writer(process);
  }
  return judge_unlocked(capture, file.get());
}

bool is_being_written(const CaptureReader& capture) {
  return find_writer(capture).kind == WriterState::Kind::living;
}

}  // namespace kymo::capture
