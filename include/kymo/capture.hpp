// Reads captures: the blocks of a file, sequentially or in any order, while the file grows or afterwards.
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
struct ReaderAccess;  // lets kymo's own layers read captures that are not files
}

/// A capture cannot be read at all. what() names the path, the offset and the remedy.
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

/// Contents of a block. Other numbers belong to later versions; such blocks are listed and can be ignored.
enum class BlockKind : std::uint8_t {
  header = 1,        ///< recorder and its settings
  declarations = 2,  ///< declarations used by the event blocks that follow
  events = 3,
  summary = 4,
  index = 5,
  end = 6,           ///< final totals of the recorder
  ended_tracks = 7,  ///< names and totals of ended tracks
};

/// Name for tables and messages: that of the enumerator; empty for a kind of a later version.
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

/// Position and extent of a block.
struct BlockInfo {
  std::uint64_t offset = 0;  ///< of the block's header in the file
  BlockKind kind = BlockKind::events;
  std::uint16_t level = 0;    ///< summaries: the level; events: 1 if those just before the block are missing, else 0
  std::uint32_t number = 0;   ///< position among the file's blocks, from 0
  std::int64_t start_ns = 0;  ///< no event in the block is earlier
  std::int64_t end_ns = 0;    ///< no event in the block is later
  std::uint32_t scope_events = 0;
  std::uint32_t stored_bytes = 0;  ///< payload size as stored
  std::uint32_t raw_bytes = 0;     ///< payload size decompressed
};

/// A part of the file that could not be used.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string what;  ///< the defect and the data lost to it
};

/// Contents of the header block.
struct CaptureHeader {
  std::string recorder;         ///< name and version of the writer
  std::string spool_id;         ///< shared memory that holds data not yet in the file; empty: none
  std::string clock_source;     ///< "tsc", "cntvct", "clock_monotonic"
  double clock_step_ns = 0;     ///< clock resolution: the smallest difference between two times
  std::uint64_t owner_pid = 0;  ///< process that writes the file; 0: not one process (a merge, a repack)
};

/// Totals of a track. Track 0 stands for threads that got no track.
struct TrackTotals {
  TrackId track{};
  std::uint64_t recorded_scopes = 0;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  std::uint64_t end_sequence = 0;  ///< sequence numbers below this one are in the file
};

/// Final totals of a cleanly closed capture.
struct CaptureEnd {
  std::vector<TrackTotals> tracks;                           ///< by ascending id
  std::vector<std::pair<std::string, std::uint64_t>> facts;  ///< for example collector_cpu_ns
};

/// The decompressed payload of a block. Reuses its memory.
class BlockPayload {
 public:
  /// This many bytes beyond the payload are readable, so that decoders can load whole words. Their value is undefined.
  static constexpr std::size_t padding = 16;

  [[nodiscard]] const std::byte* data() const { return storage_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Changes the size and returns the write position. The content is undefined afterwards.
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

/// Selects the parts of a block to decode. The others stay empty and cost little.
enum class BatchParts : std::uint8_t {
  everything,
  scopes,     ///< runs only
  sequences,  ///< runs without their events and arguments: sequence ranges, drop counts, open scopes
  others,     ///< everything except runs
  samples,    ///< samples only
  states,     ///< threads' run states only
  stacks,     ///< samples of stacks only
};

/// One capture file.
///
/// Opening reads the index of a cleanly closed file; otherwise it walks the block headers. Events are read block by
/// block, so memory grows by only 64 bytes per block of the file. Any byte of the file may be wrong: intact data is
/// read, damage is listed in damages().
///
/// read(), read_payload() and check_stored() are thread-safe. refresh() and check() need exclusive use of the reader.
class KYMO_API CaptureReader {
 public:
  /// Opens a file. Throws CaptureError if it cannot be opened or is not a capture of this version.
  explicit CaptureReader(const std::string& path);
  /// Reads from memory, which must outlive the reader. `name` stands for the path in messages.
  CaptureReader(const void* data, std::size_t size, std::string name);
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  [[nodiscard]] const std::string& path() const;
  /// The contents of the header block; empty if that block is damaged or not yet written.
  [[nodiscard]] const CaptureHeader& header() const;
  /// All declarations so far. A later declaration of an id replaces the earlier one in place.
  [[nodiscard]] const Declarations& declarations() const;
  /// All blocks so far, by ascending offset.
  [[nodiscard]] const std::vector<BlockInfo>& blocks() const;
  /// Bytes of the file examined so far.
  [[nodiscard]] std::uint64_t size_bytes() const;
  /// True if the file was closed cleanly: nothing will be appended.
  [[nodiscard]] bool is_closed() const;
  /// The final totals; empty if the file was not closed cleanly.
  [[nodiscard]] const CaptureEnd& end() const;

  /// Decodes an events block into `batch` and reuses its memory. If the block is damaged, returns false, adds an entry
  /// to damages() and leaves `batch` empty. Throws CaptureError if the file cannot be read. About 10 ns a scope.
  [[nodiscard]] bool read(const BlockInfo& block, EventBatch& batch, BatchParts parts = BatchParts::everything) const;

  /// Decompresses the payload of a block of any kind; docs/format.md describes its layout. If the block is damaged,
  /// returns false, adds an entry to damages() and leaves `payload` empty.
  [[nodiscard]] bool read_payload(const BlockInfo& block, BlockPayload& payload) const;

  /// Compares the stored bytes of a block of any kind with their checksum, without decoding them. If they differ,
  /// returns false and adds an entry to damages(). About a second for each 3 GB in the page cache.
  [[nodiscard]] bool check_stored(const BlockInfo& block) const;

  /// Reads what was appended since the last call; returns true if there are new blocks. Works for growing and finished
  /// files. Throws CaptureError if the file has become unreadable or shorter than the part already read.
  bool refresh();

  /// Reads and checks every block, so that damages() is complete. Returns true if there is no damage. Costs a pass over
  /// the file.
  bool check();

  /// Damage found so far, by ascending offset. A growing file may end in an incomplete block. It is listed too, and
  /// removed by refresh() when the rest has arrived.
  [[nodiscard]] std::vector<Damage> damages() const;

 private:
  friend struct capture::ReaderAccess;
  class Implementation;
  explicit CaptureReader(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
