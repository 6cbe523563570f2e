// Writes captures: a sink that codes each batch into one events block and has it in the file before it returns.
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
#include "capture/batch_codec.hpp"
#include "capture/block_ring.hpp"
#include "capture/codec.hpp"
#include "capture/destination.hpp"
#include "capture/facts_codec.hpp"
#include "capture/summary_builder.hpp"

namespace kymo::capture {

struct CaptureWriterOptions {
  CaptureHeader header;
  /// What is known at the start: the processes and the infos, at least.
  Declarations declarations;
  std::unique_ptr<Codec> codec;  ///< none: lz4
  bool with_summaries = true;    ///< without them overviews cost a pass over the file
  SummaryIntervals summary_intervals;
  /// How often to make what was written survive a loss of power; 0: never.
  std::chrono::nanoseconds sync_period{0};
  /// A flight recorder: events go here, and to the file only by write_held() and finish(). Such a capture has no
  /// summaries and no totals of its tracks.
  std::unique_ptr<BlockRing> ring;
};

/// Options of a capture that is written again from others: zstd, and summaries at wider intervals, which serve a
/// finished capture as well and take less of it. Only in kymo::analysis.
[[nodiscard]] CaptureWriterOptions make_repack_options();

/// Writes one capture. Calls come from one thread at a time; bytes_written() from any.
///
/// A WriteError (a full disk) leaves everything written before readable. What was not written is counted; the writer
/// tries again with the next batch, and states its loss as that of the track unwritten_track once there is room.
///
/// Memory does not grow with the file: what tracks that ended were called and add up to goes out in ENDED_TRACKS
/// blocks.
class CaptureWriter final : public Sink {
 public:
  /// No recorder gives a track this number.
  static constexpr TrackId unwritten_track = 0xFFFFFFFE;

  /// Writes the preamble and the header. WriteError.
  CaptureWriter(std::unique_ptr<BlockDestination> destination, CaptureWriterOptions options);
  /// The same into a new file; path() tells which, since an existing one is never overwritten.
  CaptureWriter(const std::string& path, CaptureWriterOptions options);
  ~CaptureWriter() override;

  /// Writes the batch's declarations and its events in one write(2): about 6 ns of CPU a scope, and 7 for the
  /// summaries. WriteError, and std::length_error where the batch does not fit into a block.
  void write(const EventBatch& batch) override;

  /// Flight recorders: writes the blocks that the ring holds to the file. WriteError.
  void write_held();

  /// Closes the capture: the last summaries, all declarations again but those of ended tracks that stand in blocks of
  /// their own, totals, index, trailer. WriteError. Without it the capture is as complete, only slower to open.
  void finish() override;

  /// A number for the closing words, such as "collector_cpu_ns". Replaces an earlier one of that key.
  void set_closing_fact(std::string_view key, std::uint64_t value);

  /// Makes what was written survive a loss of power. WriteError.
  void sync() { destination_->sync(); }

  /// What batches held that could not be written: scopes, and events of other kinds.
  [[nodiscard]] const TrackTotals& unwritten() const { return unwritten_; }

  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& path() const { return destination_->name(); }

 private:
  struct BlockFacts {
    BlockKind kind = BlockKind::events;
    std::uint16_t level = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t scope_events = 0;
  };

  /// Where the writer stands before it puts blocks into pending_, which is empty then.
  struct Mark {
    std::uint32_t next_number = 0;
    std::size_t listed = 0;
  };
  [[nodiscard]] Mark mark();
  /// Takes back what was put since the mark and did not get into the file.
  void roll_back(const Mark& mark);

  void put_header();
  /// Codes a payload as a block at the end of `out`; its number is the next one.
  BlockHeader code_block(const BlockFacts& facts, std::span<const std::byte> raw, std::span<const std::size_t> cuts,
                         ByteBuffer& out);
  /// Notes a block that was appended to pending_ in the index.
  void list_block(const BlockHeader& header, std::uint64_t offset);
  void put_declarations(const Declarations& declarations, std::int64_t time_ns);
  /// Codes the batch's events into events_raw_.
  void encode(const EventBatch& batch);
  /// Codes what stands in events_raw_, the batch's events, as a block.
  void put_events(const EventBatch& batch);
  void write_encoded(const EventBatch& batch);
  /// States what could not be written so far.
  void write_loss(std::int64_t time_ns);
  void count_unwritten(const EventBatch& batch);
  void count_held();
  void write_summaries(const std::vector<FinishedSummary>& summaries);
  void write_ended_tracks();
  void put_end();
  void put_index(const IndexPage& page);
  void write_full_index();
  void write_closing_words(bool with_declarations);
  /// Compresses a payload into a block behind what stands in pending_.
  void put_block(const BlockFacts& facts, std::span<const std::byte> raw, std::span<const std::size_t> cuts = {});
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
  base::EndedTracks ended_tracks_;  // declarations_ and totals_ may still have them
  TrackTotals unwritten_;
  bool has_unstated_loss_ = false;
  bool owes_declarations_ = false;  // some were in a batch that could not be written
  bool has_ended_tracks_ = false;   // in blocks of their own
  bool can_roll_back_ = true;       // no index page went into pending_ since the mark
  std::vector<std::pair<std::string, std::uint64_t>> closing_facts_;
  IndexPage index_;
  ByteBuffer raw_;         // the payload that is being coded
  ByteBuffer events_raw_;  // the same of an events block
  ByteBuffer pending_;     // blocks that go out with the next write
  ByteBuffer held_;        // a block on its way to the ring
  std::uint32_t next_number_ = 0;
  std::int64_t last_time_ns_ = 0;
  std::unique_ptr<BlockRing> ring_;
  std::atomic<std::uint64_t> bytes_written_{0};
  std::chrono::nanoseconds sync_period_;
  std::chrono::steady_clock::time_point last_sync_;
  bool is_done_ = false;  // finished
};

}  // namespace kymo::capture
