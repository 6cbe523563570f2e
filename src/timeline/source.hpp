// One capture of a timeline: its blocks with the timeline's ids and times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/merge/clock_alignment.hpp"
#include "capture/merge/id_translation.hpp"
#include "capture/merge/redaction.hpp"
#include "capture/summary/frame_walk.hpp"
#include "timeline/open_async_spans.hpp"

namespace kymo::timeline {

class Source;

/// The captures of a timeline, in the order of their indices.
[[nodiscard]] std::span<const std::unique_ptr<Source>> sources_of(const Timeline& timeline);

/// How many frames came before those of a timeline. None did unless it is a part of another.
[[nodiscard]] capture::FrameCounts frames_before(const Timeline& timeline);

/// A timeline id for an undeclared id of a capture. Keeps such ids distinct; never part of the consecutive ids.
[[nodiscard]] std::uint32_t undeclared_id(std::size_t source, std::uint32_t own);

/// One capture on the timeline's axis. Its events are in "blocks" counted from 0: the file's EVENTS blocks in order,
/// then the unwritten batches found in shared memory.
///
/// Const functions are thread-safe.
class Source {
 public:
  Source(std::size_t index, CaptureReader reader, capture::ClockShift shift);

  [[nodiscard]] const CaptureReader& reader() const { return reader_; }
  [[nodiscard]] CaptureReader& reader() { return reader_; }
  [[nodiscard]] const capture::ClockShift& shift() const { return shift_; }

  /// Adds the reader's new blocks and declarations. Returns the declarations with the timeline's ids.
  Declarations absorb(capture::Numbering& numbering, std::vector<EventBatch> unwritten);

  [[nodiscard]] std::size_t block_count() const { return event_blocks_.size() + unwritten_.size(); }
  /// The number of unwritten batches among them.
  [[nodiscard]] std::size_t unwritten_count() const { return unwritten_.size(); }
  /// The declared time range of a block; its end is inclusive.
  [[nodiscard]] std::int64_t start_ns(std::size_t block) const;
  [[nodiscard]] std::int64_t end_ns(std::size_t block) const;
  /// The earliest start and the latest end of all blocks; both 0 if there are none.
  [[nodiscard]] TimeRange range() const { return range_; }
  /// The time up to which a track's scopes and spans without an end were open: the end of the capture, or in a merge
  /// that of the capture in which its process recorded.
  [[nodiscard]] std::int64_t end_ns_of(TrackId track) const;

  /// Decodes a block with the timeline's ids and times and without declarations. False if it is damaged. The batch
  /// follows a loss also where blocks are missing before it.
  [[nodiscard]] bool read(std::size_t block, BatchParts parts, EventBatch& batch) const;
  /// The same with the capture's own ids and times.
  [[nodiscard]] bool read_own(std::size_t block, BatchParts parts, EventBatch& batch) const;
  /// The number of a block in the file; unwritten batches continue after the last one.
  [[nodiscard]] std::uint32_t block_number(std::size_t block) const;

  /// The async spans without an end, by their start. Costs a pass over the blocks added since the last call.
  [[nodiscard]] std::vector<Span> open_async() const;

  /// From then on events are read without what they tell about the user. Declarations are those with the timeline's
  /// ids.
  void redact_with(const Declarations& declared) {
    redaction_ = redaction_ ? redaction_ : capture::EventRedaction();
    redaction_->learn(declared);
  }

  /// Makes it the part of a capture that begins after so many frames.
  void begin_after(capture::FrameCounts frames) { frames_before_ = std::move(frames); }
  [[nodiscard]] const capture::FrameCounts& frames_before() const { return frames_before_; }

  /// Tells whether this is the timeline's only capture; its ids may then be used unchanged.
  void set_alone(bool is_alone) { is_alone_ = is_alone; }

  /// The timeline's id for one of the capture's own.
  template <IdKind kind>
  [[nodiscard]] Id<kind> find(Id<kind> own) const {
    const Id<kind> shared = ids_.find(own);
    if (shared || !own || keeps_ids()) {
      return shared ? shared : own;
    }
    return Id<kind>{undeclared_id(index_, own.value())};
  }

 private:
  void note_ends(const Declarations& declared);
  [[nodiscard]] bool follows_gap(std::size_t block) const;
  [[nodiscard]] bool is_suspicious(std::size_t block, const EventBatch& batch) const;
  [[nodiscard]] bool keeps_ids() const { return is_alone_ && ids_.is_identity(); }

  /// Cache of open_async(): the spans among the blocks below next_block.
  struct OpenAsync {
    std::mutex mutex;
    std::size_t next_block = 0;
    OpenAsyncSpans spans;
  };

  std::size_t index_;
  CaptureReader reader_;
  capture::ClockShift shift_;
  capture::IdTranslation ids_;
  capture::IdTranslation::OnUndeclared on_undeclared_;
  std::vector<std::uint32_t> event_blocks_;  // by block: its index among the reader's blocks
  std::size_t blocks_seen_ = 0;              // of the reader's
  std::vector<EventBatch> unwritten_;        // as found
  TimeRange range_{0, 0};
  std::unordered_map<ProcessId, std::int64_t> process_ends_ns_;  // in a merge
  std::unordered_map<TrackId, ProcessId> processes_of_tracks_;   // in a merge
  capture::FrameCounts frames_before_;
  bool is_alone_ = false;
  std::optional<capture::EventRedaction> redaction_;
  std::unique_ptr<OpenAsync> open_async_ = std::make_unique<OpenAsync>();
};

}  // namespace kymo::timeline
