// Writes captures: a sink that encodes each batch into one events block, which is in the file when the call returns.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/sink.hpp>

#include "base/declaration_set.hpp"
#include "capture/format/batch_codec.hpp"
#include "capture/format/codec.hpp"
#include "capture/format/facts_codec.hpp"
#include "capture/summary/builder.hpp"
#include "capture/write/block_ring.hpp"
#include "capture/write/destination.hpp"
#include "capture/write/unwritten.hpp"

namespace kymo::capture {

struct CaptureWriterOptions {
  CaptureHeader header;
  /// Declarations known at the start: at least the processes and the infos.
  Declarations declarations;
  std::unique_ptr<Codec> codec;  ///< none: lz4
  bool with_summaries = true;    ///< without them, overviews read the whole file
  SummaryIntervals summary_intervals;
  /// How often to flush to stable storage; 0: never.
  std::chrono::nanoseconds sync_period{0};
  /// For a flight recorder: events go here, and to the file only by write_held() and finish(). Such a capture has no
  /// summaries, and of its tracks' totals only what was dropped.
  std::unique_ptr<BlockRing> ring;
};

/// Writes one capture. Not thread-safe, except bytes_written().
///
/// After a WriteError (a full disk) everything written before stays readable. The lost events are counted. The writer
/// tries again with the next batch and, once there is room, states the loss as that of the track unwritten_track.
///
/// Memory does not grow with the file: names and totals of ended tracks go to ENDED_TRACKS blocks.
class CaptureWriter final : public Sink {
 public:
  /// Writes the preamble and the header. Throws WriteError.
  CaptureWriter(std::unique_ptr<BlockDestination> destination, CaptureWriterOptions options);
  /// The same into a new file. path() returns its name, since an existing file is never overwritten.
  CaptureWriter(const std::string& path, CaptureWriterOptions options);

  /// Writes the batch's declarations and events in one write(2). About 6 ns of CPU per scope, and 7 for the summaries.
  /// Throws WriteError, and std::length_error if the batch does not fit into a block.
  void write(const EventBatch& batch) override;

  /// Flight recorders: writes the ring's blocks to the file. Throws WriteError.
  void write_held();

  /// Closes the capture: writes the last summaries, all declarations again (except those of ended tracks, which have
  /// their own blocks), totals, index and trailer. Throws WriteError. A capture that was not closed is as complete,
  /// only slower to open.
  void finish() override;

  /// Takes over what another capture states to be dropped, in its closing words perhaps alone.
  void keep_drops(const std::vector<TrackTotals>& stated);
  /// Sets a number in the closing words, such as "collector_cpu_ns". Replaces an earlier one with that key.
  void set_closing_fact(std::string_view key, std::uint64_t value);

  /// Flushes to stable storage. Throws WriteError.
  void sync() { destination_->sync(); }

  /// Losses from batches that could not be written: scopes, and events of other kinds.
  [[nodiscard]] const TrackTotals& unwritten() const { return unwritten_; }

  /// Scopes that were dropped before they reached this capture, over all tracks.
  [[nodiscard]] std::uint64_t dropped_scopes() const;

  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& path() const { return destination_->name(); }

 private:
  /// Writes the blocks that put() adds to pending_, which is empty before: all of them reach the file, or none counts.
  template <typename Put>
  void write_blocks(const Put& put);

  void put_header();
  /// Empties raw_ for the tables of a block, which put_tables() then makes of it.
  [[nodiscard]] TableWriter begin_tables();
  void put_tables(BlockKind kind, std::int64_t time_ns);
  /// Encodes a payload as a block with the next number at the end of `out`. Kind, level, times and the number of scope
  /// events are given in `header`, which gets the rest.
  void code_block(BlockHeader& header, std::span<const std::byte> raw, std::span<const std::size_t> cuts,
                  ByteBuffer& out);
  /// Adds a block in pending_ to the index.
  void list_block(const BlockHeader& header, std::uint64_t offset);
  void put_declarations(const Declarations& declarations, std::int64_t time_ns);
  /// Encodes the batch's events into events_raw_.
  void encode(const EventBatch& batch);
  /// Counts the events of the batch, which are in events_raw_, as recorded. A flight recorder's ring gets them.
  void keep_events(const EventBatch& batch);
  void write_encoded(const EventBatch& batch);
  /// The first batch after a loss.
  void write_stating_loss(const EventBatch& batch);
  void count_unwritten(const EventBatch& batch);
  void count_held();
  void write_summaries(const std::vector<FinishedSummary>& summaries);
  void write_ended_tracks();
  void put_end();
  void put_index();
  void write_full_index();
  void write_closing_words(bool with_declarations);
  /// Compresses a payload into a block at the end of pending_.
  void put_block(BlockHeader header, std::span<const std::byte> raw, std::span<const std::size_t> cuts = {});
  void append_pending();
  void sync_when_due();
  void count_totals(const EventBatch& batch);

  std::unique_ptr<BlockDestination> destination_;
  std::unique_ptr<Codec> codec_;
  std::optional<SummaryBuilder> summaries_;
  CaptureHeader header_;
  BatchEncoder encoder_;
  base::DeclarationSet declarations_;
  std::unordered_map<TrackId, TrackTotals> totals_;
  base::EndedTracks ended_tracks_;      // possibly still in declarations_ and totals_
  std::uint64_t dropped_by_ended_ = 0;  // scopes, by tracks that totals_ has no more
  TrackTotals unwritten_;
  bool has_unstated_loss_ = false;
  UnwrittenTracks unwritten_tracks_;  // in batches that were not written since the last that was
  bool owes_declarations_ = false;    // some were in a batch that could not be written
  bool has_ended_tracks_ = false;     // in blocks of their own
  bool can_take_back_ = true;         // no index page was added to pending_ by write_blocks()
  std::vector<std::pair<std::string, std::uint64_t>> closing_facts_;
  IndexPage index_;
  std::optional<IndexPage> finished_page_;  // the one before, in pending_
  ByteBuffer raw_;                          // the payload being encoded
  ByteBuffer events_raw_;                   // the payload of an events block
  ByteBuffer pending_;                      // blocks of the next write
  ByteBuffer held_;                         // a block on its way to the ring
  std::uint32_t next_number_ = 0;
  std::int64_t last_time_ns_ = 0;
  std::unique_ptr<BlockRing> ring_;
  std::atomic<std::uint64_t> bytes_written_{0};
  std::chrono::nanoseconds sync_period_;
  std::chrono::steady_clock::time_point last_sync_;
  bool is_done_ = false;  // finished
};

}  // namespace kymo::capture
