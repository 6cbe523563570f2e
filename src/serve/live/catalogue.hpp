// The captures that are served: those named by the user, and the present and future content of directories.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "capture/read/byte_source.hpp"
#include "serve/live/capture_head.hpp"

namespace kymo::serve {

/// The state of a capture as reported by the server. Its id and name never change.
struct CaptureState {
  std::size_t id = 0;
  std::string name;  ///< file name without folder, unless two captures would have the same name
  std::uint64_t size = 0;
  bool is_growing = false;  ///< its recorder is alive and has not closed it
};

struct CaptureChange {
  CaptureState state;
  bool is_new = false;
};

/// All served captures. look() is for one thread at a time; everything else for any thread.
class Catalogue {
 public:
  /// Takes captures and directories of captures (files *.kymo). Throws CaptureError if a file cannot be read or is not
  /// a capture, or if a directory cannot be listed. An empty file beside others is served once it is a capture. Serves
  /// at most `most` captures.
  Catalogue(const std::vector<std::string>& paths, std::size_t most);

  /// Checks whether growing captures became larger or were closed. With `everywhere` also checks captures without a
  /// visible writer, and looks for new files. Returns whether anything changed. Costs about 2 us per file checked.
  bool look(bool everywhere);

  /// Number of changes so far.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_growing() const { return has_growing_.load(std::memory_order_relaxed); }
  /// Whether files were left out because of the limit.
  [[nodiscard]] bool is_full() const { return is_full_.load(std::memory_order_relaxed); }

  /// The captures that still exist.
  [[nodiscard]] std::vector<CaptureState> captures() const;
  /// The changes after a generation, by ascending id. Sets `generation` to the current one.
  [[nodiscard]] std::vector<CaptureChange> changes_since(std::uint64_t& generation) const;

  /// Opens a capture for reading. Returns nothing for an unknown id, or if its file is gone or was replaced.
  [[nodiscard]] std::shared_ptr<const capture::ByteSource> open(std::size_t id) const;

 private:
  struct Directory {
    std::string path;
    std::int64_t changed_ns = 0;  // last change of its list of files, at the last look
    bool is_settled = false;      // any file added since would have changed that
  };
  struct Entry {
    std::string path;
    base::FileId identity;
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
  /// `directory` is the served one that the file was found in; empty for a file that the user named.
  bool add(const std::string& path, bool is_first, const std::string& directory);
  bool look_into(Directory& directory, bool is_first);
  [[nodiscard]] std::string name_for(const std::string& path);

  std::size_t most_;
  std::vector<Directory> directories_;
  std::vector<std::string> named_files_;
  std::set<base::FileId> known_files_;
  std::set<std::string> names_;

  mutable std::mutex mutex_;  // protects entries_ when written, and when read by another thread
  std::deque<Entry> entries_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> has_growing_{false};
  std::atomic<bool> is_full_{false};
};

}  // namespace kymo::serve
