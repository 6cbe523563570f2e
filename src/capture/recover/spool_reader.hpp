// Reads a dead process's shared memory: events that its collector had not yet written to the capture.
//
// The layout is in record/spool_layout.hpp. Nothing in it is trusted: offsets, counts and cursors are checked against
// the file's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "base/system/file.hpp"
#include "record/collector/track_decoder.hpp"

namespace kymo::record {
struct SpoolHeader;
struct ChunkHeader;
}  // namespace kymo::record

namespace kymo::capture {

/// Where to continue reading a track, given what the capture holds of it.
struct TrackResume {
  std::uint64_t end_sequence = 0;  ///< lower words are in the capture
  std::int64_t last_ns = 0;        ///< time of the last event in the capture
  std::vector<OpenScope> open;     ///< scopes open at that point, outermost first
};

/// A capture's content as far as it concerns its spool.
struct CaptureCoverage {
  /// Its first batch is there, which states every track. Before that, what went to sinks went to those of earlier
  /// captures.
  bool has_begun = true;
  std::map<TrackId, TrackResume> tracks;
  TrackTotals unwritten;  ///< what it states to be lost for want of room
  record::AsyncSpans async_spans;
};

/// The parts of a spool that matter to recovery, and the file to read the rest from: only used parts are read.
class SpoolReader {
 public:
  /// Reads the tables of a spool file. Nothing if it is not a spool of this version.
  static std::optional<SpoolReader> read(base::FileDescriptor file);

  SpoolReader(SpoolReader&&) noexcept;
  SpoolReader& operator=(SpoolReader&&) noexcept;
  ~SpoolReader();

  [[nodiscard]] std::string id() const;
  /// Absolute path of its capture, perhaps cut; empty if none was begun.
  [[nodiscard]] std::string capture_path() const;
  [[nodiscard]] std::uint64_t owner_pid() const;
  /// Whether no capture lacks anything that is in it.
  [[nodiscard]] bool is_needless() const;

  /// Decodes events missing from the coverage into batches of limited size. Returns what was damaged or missing, in
  /// words.
  std::vector<std::string> decode(CaptureCoverage coverage,
                                  const std::function<void(const EventBatch&)>& on_batch) const;

 private:
  /// A slot in use.
  struct Track {
    std::uint32_t slot = 0;
    TrackId track;
    bool has_exited = false;
    std::uint64_t cursor = 0;  ///< an address in the owner's mapping
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
    std::uint64_t stated_drops = 0;  // of both
  };
  struct UsedChunk {
    std::uint64_t offset = 0;  ///< of its first word, in the file
    std::uint64_t first_sequence = 0;
    std::uint64_t begun_at = 0;
    std::size_t words = 0;
    std::size_t written = 0;  // of these
  };
  using ChunksByTrack = std::map<TrackId, std::vector<UsedChunk>>;

  SpoolReader() = default;
  [[nodiscard]] const record::SpoolHeader& header() const { return *header_; }
  [[nodiscard]] bool is_sound(std::uint64_t file_size) const;
  [[nodiscard]] bool read_tracks();
  [[nodiscard]] bool read_chunks();
  void take_chunk(const record::ChunkHeader& head, std::uint64_t offset, std::size_t capacity);
  [[nodiscard]] std::size_t words_in(const record::ChunkHeader& head, std::uint64_t offset, std::size_t capacity) const;
  [[nodiscard]] std::vector<std::uint64_t> words_of(const UsedChunk& chunk) const;
  [[nodiscard]] record::ClockMap clock() const;
  [[nodiscard]] std::int64_t last_seen_alive_ns() const;
  void read_log(EventBatch& batch) const;
  [[nodiscard]] std::map<TrackId, TrackResume> handed_on() const;
  [[nodiscard]] TrackTotals unwritten_but(const TrackTotals& found, const TrackTotals& stated) const;

  base::FileDescriptor file_;
  std::unique_ptr<record::SpoolHeader> header_;
  std::vector<Track> tracks_;  // by ascending slot
  ChunksByTrack chunks_;
};

}  // namespace kymo::capture
