#include "capture/recover/leftovers.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "base/system/system.hpp"
#include "capture/recover/recovery.hpp"
#include "capture/recover/spool_reader.hpp"
#include "capture/write/block_ring.hpp"

namespace kymo::capture {

namespace {

namespace fs = std::filesystem;
using State = Leftover::State;

/// A starting process creates its spool and fills it in at once.
constexpr std::int64_t long_enough_s = 10;

/// The ID in "kymo-ID.keep" or "kymo-PID-ID.spool".
std::string id_in_name(const std::string& path) {
  const std::string name = fs::path(path).stem().string();
  return name.substr(std::min(name.size(), name.rfind('-') + 1));
}

/// Finds events of a spool that its capture lacks.
void compare_with_capture(const SpoolReader& spool, const std::string& directory, Leftover& found) {
  found.capture = spool.capture_path();
  if (found.capture.empty()) {
    found.state = State::no_capture;
    return;
  }
  try {
    CaptureReader capture(found.capture);
    if (capture.header().spool_id != spool.id()) {
      found.state = State::no_capture;
      return;
    }
    found.state = State::covered;
    if (capture.is_closed()) {
      return;
    }
    // Even without unwritten events, the capture still has to be closed.
    found.state = State::unwritten;
    const auto count = [&found](const EventBatch& batch) {
      for (const ScopeRun& run : batch.runs) {
        found.scope_events += run.events.size();
      }
    };
    for (const std::string& note : read_unwritten(capture, count, directory)) {
      found.note += (found.note.empty() ? "" : "; ") + note;
    }
  } catch (const std::exception& failure) {
    found.state = State::no_capture;
    found.note = failure.what();
  }
}

void look_at_spool(const std::string& directory, Leftover& found) {
  SpoolFile file = open_spool_file(found.path, found.owner);
  if (file.state != SpoolFile::State::dead) {
    found.state = file.state == SpoolFile::State::living ? State::living : State::unreadable;
    found.note = file.trouble;
    return;
  }
  std::uint64_t magic = 0;
  const auto magic_bytes = std::as_writable_bytes(std::span(&magic, 1));
  const bool is_begun = base::read_fully_at(file.file.get(), magic_bytes, 0) > 0 && magic != 0;
  const std::optional<SpoolReader> spool = SpoolReader::read(std::move(file.file));
  if (!spool) {
    found.state = !is_begun && found.age_s > long_enough_s ? State::covered : State::unreadable;
    found.note = is_begun ? "damaged, or of another version of kymo" : "";
    return;
  }
  found.pid = spool->owner_pid();
  found.state = State::covered;
  if (!spool->is_needless()) {
    compare_with_capture(*spool, directory, found);
  }
}

}  // namespace

const char* name_of(Leftover::State state) {
  switch (state) {
    case State::living:
      return "alive";
    case State::unwritten:
      return "not recovered";
    case State::covered:
      return "not needed";
    case State::no_capture:
      return "no capture";
    case State::unreadable:
      return "unreadable";
    case State::foreign:
      return "another user's";
  }
  return "";
}

std::vector<Leftover> list_leftovers(const std::string& directory) {
  std::vector<Leftover> all;
  std::vector<Leftover> rings;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_ring = name.ends_with(".keep");
    struct stat status {};
    if (!name.starts_with("kymo-") || (!is_ring && !name.ends_with(".spool")) ||
        ::lstat(entry->path().c_str(), &status) != 0) {
      continue;
    }
    Leftover found;
    found.path = entry->path().string();
    found.owner = status.st_uid;
    found.bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    found.age_s = std::max<std::int64_t>(0, ::time(nullptr) - status.st_mtime);
    const bool is_ours = ::geteuid() == 0 || status.st_uid == ::geteuid();
    if (!S_ISREG(status.st_mode)) {
      found.state = State::unreadable;
      found.note = "not a plain file";
    } else if (is_ours && !is_ring) {
      look_at_spool(directory, found);
    } else if (is_ours) {
      rings.push_back(std::move(found));
      continue;
    }
    all.push_back(std::move(found));
  }
  for (Leftover& ring : rings) {
    // A spool's ring is cleared together with the spool.
    if (find_spool_file(id_in_name(ring.path), directory, ring.owner).state == SpoolFile::State::absent) {
      ring.pid = block_ring_owner(ring.path);
      ring.state = ring.pid != 0 && ::access(("/proc/" + std::to_string(ring.pid)).c_str(), F_OK) != 0
                       ? State::covered
                       : State::unreadable;
      ring.note = ring.state == State::covered ? "" : "its process may still run";
      all.push_back(std::move(ring));
    }
  }
  std::sort(all.begin(), all.end(), [](const Leftover& a, const Leftover& b) { return a.path < b.path; });
  return all;
}

bool clear_leftover(Leftover& leftover, bool is_forced, const std::string& directory) {
  if (leftover.state == State::unwritten) {
    try {
      RecoverOptions options;
      options.spool_directory = directory;
      options.is_forced = is_forced;
      recover(leftover.capture, options);
      return ::access(leftover.path.c_str(), F_OK) != 0;
    } catch (const std::exception& failure) {
      leftover.note = failure.what();
      return false;
    }
  }
  if (leftover.state != State::covered && (leftover.state != State::no_capture || !is_forced)) {
    return false;
  }
  if (leftover.path.ends_with(".spool")) {
    const SpoolFile file = open_spool_file(leftover.path, leftover.owner);
    if (file.state != SpoolFile::State::dead || base::lock_byte(file.file.get(), 0) == base::LockOutcome::refused) {
      leftover.note = "it is in use";
      return false;
    }
    ::unlink(block_ring_path(id_in_name(leftover.path), directory).c_str());
  }
  return ::unlink(leftover.path.c_str()) == 0;
}

}  // namespace kymo::capture
