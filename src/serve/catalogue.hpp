// Which captures are served: those that were named, and what directories hold, now and later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "capture/byte_source.hpp"
#include "serve/capture_head.hpp"

namespace kymo::serve {

/// What the server tells of a capture. Its id and its name stay.
struct CaptureState {
  std::size_t id = 0;
  std::string name;  ///< of the file, without its folder (but where two would have one name)
  std::uint64_t size = 0;
  bool is_growing = false;  ///< its recorder lives and has not closed it
};

struct CaptureChange {
  CaptureState state;
  bool is_new = false;
};

/// All captures that are served. look() is for one thread at a time; everything else for any thread.
class Catalogue {
 public:
  /// Takes captures and directories of them (files *.kymo). CaptureError where a file cannot be read or is no capture,
  /// or where a directory cannot be listed. At most `most` captures are served.
  Catalogue(const std::vector<std::string>& paths, std::size_t most);

  /// Looks whether captures that grow became larger or were closed; with `everywhere` also at those that nobody seems
  /// to write, and for new files. Whether anything changed. Costs about 2 us for each that it looks at.
  bool look(bool everywhere);

  /// Counts changes.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_growing() const { return has_growing_.load(std::memory_order_relaxed); }
  /// Whether files had to be left out.
  [[nodiscard]] bool is_full() const { return is_full_.load(std::memory_order_relaxed); }

  /// Those that are still there.
  [[nodiscard]] std::vector<CaptureState> captures() const;
  /// What changed after a generation, by ascending id; `generation` becomes the present one.
  [[nodiscard]] std::vector<CaptureChange> changes_since(std::uint64_t& generation) const;

  /// Opens a capture for reading; nothing where there is no such id, or where its file is gone or was replaced.
  [[nodiscard]] std::shared_ptr<const capture::ByteSource> open(std::size_t id) const;

 private:
  struct Directory {
    std::string path;
    std::int64_t changed_ns = 0;  // when its list of files last changed, as of the last look
    bool is_settled = false;      // no file may have come since without changing that
  };
  struct Entry {
    std::string path;
    FileIdentity identity;
    CaptureState state;
    CaptureHead head;
    bool is_closed = false;
    bool is_gone = false;
    std::uint64_t changed_generation = 0;
    std::uint64_t added_generation = 0;
  };
  struct Found {
    std::uint64_t size = 0;
    bool is_closed = false;
    bool is_growing = false;
    bool is_gone = false;
  };

  [[nodiscard]] static Found examine(const Entry& entry, bool asks_for_owner);
  bool update(Entry& entry, bool asks_for_owner);
  bool add(const std::string& path, bool is_named);
  bool look_into(Directory& directory, bool is_first);
  [[nodiscard]] std::string name_for(const std::string& path);

  std::size_t most_;
  std::vector<Directory> directories_;
  std::vector<std::string> named_files_;
  std::set<FileIdentity> known_files_;
  std::set<std::string> names_;

  mutable std::mutex mutex_;  // of entries_ where they are written, and where another thread reads them
  std::deque<Entry> entries_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> has_growing_{false};
  std::atomic<bool> is_full_{false};
};

}  // namespace kymo::serve
