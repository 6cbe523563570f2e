#include "apps/kymo/record/recorded_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "base/system/system.hpp"
#include "capture/read/capture_files.hpp"
#include "capture/recover/recovery.hpp"
#include "capture/write/block_ring.hpp"

namespace kymo::command {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_name = "/recorder.lock";
constexpr std::size_t random_letters = 6;

}  // namespace

PartsDirectory::PartsDirectory(const std::string& output) : path_(output + ".parts-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) {
    const int error = errno;
    throw Failure(fmt::format("cannot write {}: {}", output, std::strerror(error)));
  }
  // Processes may change their working directory.
  path_ = fs::absolute(path_).string();
  lock_ = base::FileDescriptor(::open((path_ + lock_name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  static_cast<void>(base::lock_byte(lock_.get(), 0));
}

PartsDirectory::~PartsDirectory() {
  if (!is_kept_) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

Parts look_at_parts(const std::string& directory) {
  Parts parts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".kymo") {
      continue;
    }
    const std::string path = entry.path().string();
    if (capture::is_empty_file(path)) {
      continue;  // its process was killed before it recorded anything
    }
    try {
      const CaptureReader capture(path);
      parts.captures.push_back(path);
      if (capture::is_being_written(capture)) {
        parts.being_written.push_back(fmt::format("{} (process {})", path, capture.header().owner_pid));
      } else {
        parts.spool_ids.push_back(capture.header().spool_id);
      }
    } catch (const CaptureError& failure) {
      parts.complaints.emplace_back(failure.what());
    }
  }
  // By time as far as names tell: the command's own process comes first if its ID is lowest.
  std::sort(parts.captures.begin(), parts.captures.end());
  return parts;
}

capture::MergeReport gather_parts(const Parts& parts, const std::string& directory, const std::string& output,
                                  std::vector<capture::MergeOptions::Facts> facts,
                                  std::vector<std::string>& complaints) {
  Progress progress("merging");
  capture::MergeOptions options;
  options.recorder = "kymo " KYMO_VERSION;
  options.facts = std::move(facts);
  options.on_progress = progress.callback();
  options.find_unwritten = [&](CaptureReader& reader) {
    std::vector<EventBatch> batches;
    const auto take = [&batches](const EventBatch& batch) { batches.push_back(batch); };
    const bool is_here =
        capture::find_spool_file(reader.header().spool_id, directory).state == capture::SpoolFile::State::dead;
    for (std::string& note :
         is_here ? capture::read_unwritten(reader, take, directory) : capture::read_unwritten(reader, take)) {
      complaints.push_back(std::move(note));
    }
    return batches;
  };
  const std::vector<fs::path> captures(parts.captures.begin(), parts.captures.end());
  return capture::merge(captures, output, options);
}

void remove_spools(const Parts& parts) {
  for (const std::string& id : parts.spool_ids) {
    const capture::SpoolFile spool = capture::find_spool_file(id);
    if (spool.state == capture::SpoolFile::State::dead) {
      ::unlink(spool.path.c_str());
      ::unlink(capture::block_ring_path(id).c_str());
    }
  }
}

std::vector<std::string> find_left_parts(const std::string& output) {
  std::vector<std::string> found;
  const fs::path path(output);
  const std::string begin = path.filename().string() + ".parts-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path.has_parent_path() ? path.parent_path() : fs::path("."), error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.size() == begin.size() + random_letters && name.rfind(begin, 0) == 0 &&
        fs::is_regular_file(entry.path().string() + lock_name, ignored)) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

JoinedParts join_left_parts(const std::string& directory, const std::string& output, bool keeps_parts) {
  const base::FileDescriptor lock(
      ::open((directory + lock_name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!lock || base::lock_byte(lock.get(), 0) != base::LockOutcome::taken) {
    throw Failure(fmt::format("{}: its `kymo record`, or another `kymo recover`, is at work on it", directory));
  }
  Parts parts = look_at_parts(directory);
  if (!parts.being_written.empty()) {
    throw Failure(fmt::format("{} is still being written; wait for its end", parts.being_written.front()));
  }
  JoinedParts joined;
  joined.recordings = parts.captures.size();
  joined.complaints = std::move(parts.complaints);
  joined.merge = gather_parts(parts, directory, output, {}, joined.complaints);
  // An unreadable part may belong to another version, or become readable for its owner.
  if (joined.complaints.empty() && !keeps_parts) {
    remove_spools(parts);
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }
  return joined;
}

}  // namespace kymo::command
