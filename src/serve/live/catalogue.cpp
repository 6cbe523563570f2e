#include "serve/live/catalogue.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>

#include "capture/read/capture_files.hpp"
#include "capture/recover/spool_file.hpp"

namespace kymo::serve {
namespace {

namespace fs = std::filesystem;

/// Time of the last change to a directory's list of files; nothing if it cannot be examined.
std::int64_t changed_ns_of(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    return 0;
  }
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Whether an opened file, found in a directory, lies there once links are followed. A link in a served directory must
/// not publish other files of the user who serves it.
bool lies_within(const std::string& directory, const std::string& path, base::FileId opened) {
  std::error_code error;
  const fs::path folder = fs::canonical(directory, error);
  const fs::path file = fs::canonical(path, error);
  struct stat status {};
  return !error && std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end() &&
         ::lstat(file.c_str(), &status) == 0 && base::id_of(status) == opened;
}

}  // namespace

Catalogue::Catalogue(const std::vector<std::string>& paths, std::size_t most) : most_(most) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      directories_.push_back({path});
      look_into(directories_.back(), true);
    } else {
      named_files_.push_back(path);
      if (paths.size() == 1 || !capture::is_empty_file(path)) {
        add(path, true, {});
      }
    }
  }
  generation_ = 1;
}

Catalogue::Found Catalogue::examine(const Entry& entry, bool asks_for_owner) {
  Found found;
  struct stat status {};
  if (::stat(entry.path.c_str(), &status) != 0 || base::id_of(status) != entry.identity) {
    found.is_gone = true;
    found.size = entry.state.size;
    return found;
  }
  found.size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  found.is_growing = entry.state.is_growing;
  if (found.size == entry.state.size && !asks_for_owner) {
    return found;
  }
  try {
    found.is_closed = capture::ends_in_trailer(capture::FileSource(entry.path).descriptor(), found.size);
    // A file that became larger is being written, if only by a copy from elsewhere, whose writer is not visible from
    // here.
    found.is_growing = !found.is_closed && (found.size > entry.state.size || entry.head.has_living_owner());
  } catch (const CaptureError&) {
    found.is_gone = true;
  }
  return found;
}

bool Catalogue::update(Entry& entry, bool asks_for_owner) {
  const Found found = examine(entry, asks_for_owner);
  const CaptureState& state = entry.state;
  if (found.size == state.size && found.is_growing == state.is_growing && found.is_gone == entry.is_gone) {
    return false;
  }
  if (!entry.head.is_known() && !found.is_gone) {
    try {
      entry.head =
          CaptureHead(capture::FileSource(entry.path), entry.path);  // the head was read before the recorder wrote it
    } catch (const CaptureError&) {
      entry.head = CaptureHead();  // treated as without writer
    }
  }
  const std::lock_guard lock(mutex_);
  entry.state.size = found.size;
  entry.state.is_growing = found.is_growing;
  entry.is_closed = found.is_closed;
  entry.is_gone = found.is_gone;
  entry.changed_generation = generation() + 1;
  return true;
}

std::string Catalogue::name_for(const std::string& path) {
  const fs::path file(path);
  std::string name = file.filename().string();
  if (names_.count(name) != 0) {
    name = (file.parent_path().filename() / file.filename()).string();
  }
  const std::string plain = name;
  for (int copy = 2; !names_.insert(name).second; ++copy) {
    name = plain + " (" + std::to_string(copy) + ")";
  }
  return name;
}

bool Catalogue::add(const std::string& path, bool is_first, const std::string& directory) {
  if (const base::FileId present = base::id_of(path);
      !is_first && (present.inode == 0 || known_files_.count(present) != 0)) {
    return false;
  }
  const capture::FileSource file(path);
  if (known_files_.count(file.id()) != 0 || (!directory.empty() && !lies_within(directory, path, file.id()))) {
    return false;
  }
  if (entries_.size() >= most_) {
    is_full_ = true;
    return false;
  }
  Entry entry;
  entry.path = path;
  entry.identity = file.id();
  entry.head = CaptureHead(file, path);
  entry.state.size = file.size();
  entry.is_closed = capture::ends_in_trailer(file.descriptor(), entry.state.size);
  entry.state.is_growing = !entry.is_closed && entry.head.has_living_owner();
  entry.state.id = entries_.size();
  entry.state.name = name_for(path);
  entry.added_generation = entry.changed_generation = generation() + 1;
  known_files_.insert(entry.identity);
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  return true;
}

bool Catalogue::look_into(Directory& directory, bool is_first) {
  const std::int64_t changed_ns = changed_ns_of(directory.path);
  if (directory.is_settled && changed_ns == directory.changed_ns) {
    return false;
  }
  std::error_code error;
  const std::vector<std::string> files = capture::captures_in(directory.path, error);
  if (error && is_first) {
    throw CaptureError(directory.path, 0, "cannot list the directory: " + error.message());
  }
  bool has_more = false;
  bool has_unread = false;
  for (const std::string& file : files) {
    try {
      has_more |= add(file, false, directory.path);
    } catch (const CaptureError&) {
      has_unread = true;  // not a capture, or not yet: its recorder has not written the first block
    }
  }
  directory.changed_ns = changed_ns;
  // Two changes within one step of the file system's clock look like one.
  constexpr std::int64_t clock_step_ns = 2'000'000'000;
  directory.is_settled = !has_unread && wall_ns() - changed_ns > clock_step_ns;
  return has_more;
}

bool Catalogue::look(bool everywhere) {
  bool has_changed = false;
  bool has_growing = false;
  for (Entry& entry : entries_) {
    if (entry.state.is_growing || (everywhere && !entry.is_closed)) {
      has_changed |= update(entry, everywhere);
    }
    has_growing |= entry.state.is_growing;
  }
  if (everywhere) {
    for (Directory& directory : directories_) {
      has_changed |= look_into(directory, false);
    }
    for (const std::string& file : named_files_) {
      try {
        has_changed |= add(file, false, {});  // it may have been replaced, for example by `kymo recover`
      } catch (const CaptureError&) {
        continue;
      }
    }
  }
  has_growing_ = has_growing;
  if (has_changed) {
    generation_.fetch_add(1, std::memory_order_release);
  }
  return has_changed;
}

std::vector<CaptureState> Catalogue::captures() const {
  const std::lock_guard lock(mutex_);
  std::vector<CaptureState> states;
  for (const Entry& entry : entries_) {
    if (!entry.is_gone) {
      states.push_back(entry.state);
    }
  }
  return states;
}

std::vector<CaptureChange> Catalogue::changes_since(std::uint64_t& generation) const {
  const std::uint64_t seen = generation;
  generation = this->generation();
  const std::lock_guard lock(mutex_);
  std::vector<CaptureChange> changes;
  for (const Entry& entry : entries_) {
    if (entry.changed_generation > seen) {
      changes.push_back({entry.state, entry.added_generation > seen});
    }
  }
  return changes;
}

std::shared_ptr<const capture::ByteSource> Catalogue::open(std::size_t id) const {
  std::string path;
  base::FileId identity;
  {
    const std::lock_guard lock(mutex_);
    if (id >= entries_.size() || entries_[id].is_gone) {
      return nullptr;
    }
    path = entries_[id].path;
    identity = entries_[id].identity;
  }
  try {
    auto file = std::make_shared<const capture::FileSource>(path);
    return file->id() == identity ? file : nullptr;
  } catch (const CaptureError&) {
    return nullptr;
  }
}

}  // namespace kymo::serve
