// Reads the shared memory of a process that is gone: the events that its collector had not written to the capture yet.
//
// The layout is in record/spool_layout.hpp. Nothing in it is trusted: offsets, counts and cursors are checked against
// the bytes that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "record/track_decoder.hpp"

namespace kymo::record {
struct SpoolHeader;
struct TrackSlot;
struct Chunk;
}  // namespace kymo::record

namespace kymo::capture {

/// Where the reading of a track goes on: what the capture holds of it.
struct TrackResume {
  std::uint64_t end_sequence = 0;  ///< words below this one are in the capture
  std::int64_t last_ns = 0;        ///< time of the last event there
  std::vector<OpenScope> open;     ///< scopes open there, outermost first
};

/// What a capture holds, as far as its spool is concerned.
struct CaptureCoverage {
  std::map<TrackId, TrackResume> tracks;
  record::OpenAsyncSpans open_async;
};

/// A copy of a spool's content.
class SpoolReader {
 public:
  /// Reads a spool file, or another descriptor of one. Nothing where it is not a spool of this version.
  static std::optional<SpoolReader> read(int file);

  SpoolReader(SpoolReader&&) noexcept;
  SpoolReader& operator=(SpoolReader&&) noexcept;
  ~SpoolReader();

  [[nodiscard]] std::string id() const;
  [[nodiscard]] std::string boot_id() const;
  /// Absolute path of the capture that it belongs to; empty where none was being written.
  [[nodiscard]] std::string capture_path() const;
  [[nodiscard]] std::uint64_t owner_pid() const;
  /// Everything in it is in a finished capture.
  [[nodiscard]] bool is_saved() const;

  /// Decodes what the coverage lacks into batches of bounded size. Returns what was found damaged or missing, in words.
  std::vector<std::string> decode(CaptureCoverage coverage,
                                  const std::function<void(const EventBatch&)>& on_batch) const;

 private:
  struct UsedChunk {
    std::uint32_t index = 0;
    std::uint64_t first_sequence = 0;
    std::size_t words = 0;
  };
  using ChunksByTrack = std::map<TrackId, std::vector<UsedChunk>>;

  SpoolReader() = default;
  [[nodiscard]] const record::SpoolHeader& header() const;
  [[nodiscard]] const record::TrackSlot& slot(std::uint32_t index) const;
  [[nodiscard]] const record::Chunk& chunk(std::uint32_t index) const;
  [[nodiscard]] bool is_sound() const;
  [[nodiscard]] bool is_split(std::uint32_t large_chunk) const;
  [[nodiscard]] ChunksByTrack used_chunks() const;
  [[nodiscard]] std::size_t words_in(std::uint32_t index) const;
  [[nodiscard]] record::ClockMap clock() const;
  [[nodiscard]] std::int64_t last_seen_alive_ns() const;
  void read_log(const std::vector<UsedChunk>& chunks, EventBatch& batch) const;

  std::vector<std::byte> storage_;
  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// Finds the spool with an id below a directory of shared memory; empty when it is not there.
[[nodiscard]] std::string find_spool(const std::string& id, const std::string& directory = "/dev/shm");

/// Whether the process that writes the spool of this path is alive: it holds a lock on the file, which the kernel drops
/// with the process or its exec.
[[nodiscard]] bool has_living_owner(const std::string& spool_path);

/// Whether the process that writes a capture is alive on this machine.
[[nodiscard]] bool is_being_written(const CaptureReader& capture);

}  // namespace kymo::capture
