// Reading captures: the blocks of a file, in order or at will, while it grows or afterwards.
//
//     kymo::CaptureReader capture("run.kymo");
//     kymo::EventBatch batch;
//     for (const kymo::BlockInfo& block : capture.blocks()) {
//       if (block.kind == kymo::BlockKind::events && capture.read(block, batch)) { ... }
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>

namespace kymo {

namespace capture {
struct ReaderAccess;  // kymo's own layers read captures that are no files through it
}

/// A capture cannot be read at all. what() names the path, the offset and what to do.
class KYMO_API CaptureError : public std::runtime_error {
 public:
  CaptureError(std::string path, std::uint64_t offset, const std::string& what);
  ~CaptureError() override;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  std::string path_;
  std::uint64_t offset_;
};

/// What a block holds. Other numbers are blocks of later versions; they are listed and can be ignored.
enum class BlockKind : std::uint8_t {
  header = 1,        ///< who recorded, how
  declarations = 2,  ///< declarations that the event blocks after it use
  events = 3,
  summary = 4,
  index = 5,
  end = 6,           ///< the recorder's closing words
  ended_tracks = 7,  ///< what tracks that ended were called and add up to
};

/// How tables and messages call it: as the enumerator; empty for one of a later version.
[[nodiscard]] constexpr std::string_view name_of(BlockKind kind) noexcept {
  switch (kind) {
    case BlockKind::header:
      return "header";
    case BlockKind::declarations:
      return "declarations";
    case BlockKind::events:
      return "events";
    case BlockKind::summary:
      return "summary";
    case BlockKind::index:
      return "index";
    case BlockKind::end:
      return "end";
    case BlockKind::ended_tracks:
      return "ended_tracks";
  }
  return {};
}

/// Where a block stands and what it covers.
struct BlockInfo {
  std::uint64_t offset = 0;  ///< of its header in the file
  BlockKind kind = BlockKind::events;
  std::uint16_t level = 0;    ///< summaries: the level
  std::uint32_t number = 0;   ///< blocks of a file count from 0
  std::int64_t start_ns = 0;  ///< no event in it is earlier
  std::int64_t end_ns = 0;    ///< nor later
  std::uint32_t scope_events = 0;
  std::uint32_t stored_bytes = 0;  ///< of the payload as it is stored
  std::uint32_t raw_bytes = 0;     ///< of the payload decompressed
};

/// A stretch of the file that could not be used.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string what;  ///< what is wrong with it and what is missing for it
};

/// What the first block says.
struct CaptureHeader {
  std::string recorder;         ///< name and version of what wrote the file
  std::string spool_id;         ///< of the shared memory that holds what is not in the file yet; empty: none
  std::string clock_source;     ///< "tsc", "cntvct", "clock_monotonic"
  double clock_step_ns = 0;     ///< the least difference between two times
  std::uint64_t owner_pid = 0;  ///< the process that writes the file; 0: not one process (a merge, a repack)
};

/// What a track adds up to. Track 0 stands for threads that found no place for a track.
struct TrackTotals {
  TrackId track = 0;
  std::uint64_t recorded_scopes = 0;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  std::uint64_t end_sequence = 0;  ///< sequence numbers below this one are in the file
};

/// The closing words of a capture that was closed cleanly.
struct CaptureEnd {
  std::vector<TrackTotals> tracks;                           ///< by ascending id
  std::vector<std::pair<std::string, std::uint64_t>> facts;  ///< such as collector_cpu_ns
};

/// The decompressed payload of a block. Keeps its memory from use to use.
class BlockPayload {
 public:
  /// So many bytes beyond the payload may be read, so that decoders can load whole words. Their value says nothing.
  static constexpr std::size_t padding = 16;

  [[nodiscard]] const std::byte* data() const { return storage_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Changes the size and returns where to write. What the bytes hold then is not defined.
  [[nodiscard]] std::byte* resize(std::size_t size) {
    if (storage_.size() < size + padding) {
      storage_.resize(size + padding);
    }
    size_ = size;
    return storage_.data();
  }
  void clear() { size_ = 0; }

 private:
  std::vector<std::byte> storage_;
  std::size_t size_ = 0;
};

/// Which parts of a block to decode; the others stay empty and cost little.
enum class BatchParts : std::uint8_t {
  everything,
  scopes,     ///< runs only
  sequences,  ///< runs without their events and arguments: sequence ranges, drop counts, open scopes
  others,     ///< everything but runs
  samples,    ///< samples only
};

/// One capture file.
///
/// Opening reads the index of a cleanly closed file, else hops from block to block; events are read block by block, so
/// memory does not grow with the file beyond 64 bytes a block. Every byte of the file may be wrong: what is sound is
/// read, what is not is listed in damages().
///
/// read() and read_payload() may be called from several threads at once; refresh() and check() by one thread while
/// nobody else uses the reader.
class KYMO_API CaptureReader {
 public:
  /// Opens a file. CaptureError where it cannot be opened or is not a capture of this version.
  explicit CaptureReader(const std::string& path);
  /// Reads from memory, which must stay until the reader is gone. `name` stands for the path in messages.
  CaptureReader(const void* data, std::size_t size, std::string name);
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  [[nodiscard]] const std::string& path() const;
  /// What the first block says; empty where that block is damaged or not written yet.
  [[nodiscard]] const CaptureHeader& header() const;
  /// All declarations so far, later ones of an id replacing earlier ones in place.
  [[nodiscard]] const Declarations& declarations() const;
  /// All blocks so far, by ascending offset.
  [[nodiscard]] const std::vector<BlockInfo>& blocks() const;
  /// Bytes of the file that have been looked at.
  [[nodiscard]] std::uint64_t size_bytes() const;
  /// Whether the file was closed cleanly: nothing will be appended to it.
  [[nodiscard]] bool is_closed() const;
  /// The closing words; nothing in them where the file was not closed cleanly.
  [[nodiscard]] const CaptureEnd& end() const;

  /// Decodes an events block into `batch`, whose memory is reused. False, and an entry in damages(), where the block is
  /// damaged; `batch` is empty then. CaptureError where the file cannot be read. Takes about 10 ns a scope.
  [[nodiscard]] bool read(const BlockInfo& block, EventBatch& batch, BatchParts parts = BatchParts::everything) const;

  /// The decompressed payload of a block of any kind; docs/format.md says what is in it. False, and an entry in
  /// damages(), where the block is damaged; `payload` is empty then.
  [[nodiscard]] bool read_payload(const BlockInfo& block, BlockPayload& payload) const;

  /// Looks for what was appended since; whether blocks came. The same for a growing and a finished file.
  /// CaptureError where the file cannot be read any more, or became shorter than what was read.
  bool refresh();

  /// Reads every block and checks all of it, so that damages() is complete; whether there are none. Costs a pass over
  /// the file.
  bool check();

  /// What has been found unusable so far, by ascending offset. A file that grows may end in a block that is not
  /// complete yet: that is listed too, and goes with refresh() when the rest has come.
  [[nodiscard]] std::vector<Damage> damages() const;

 private:
  friend struct capture::ReaderAccess;
  class Implementation;
  explicit CaptureReader(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
