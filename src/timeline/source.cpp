// One capture of a timeline: its blocks with the timeline's ids and times.
#include "timeline/source.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/append.hpp"

namespace kymo::timeline {

std::uint32_t undeclared_id(std::size_t source, std::uint32_t own) {
  constexpr std::uint32_t mark = 0x80000000U;
  if (source < 2048 && own < (std::uint32_t{1} << 20U)) {
    return mark | (static_cast<std::uint32_t>(source) << 20U) | own;
  }
  return 0xFFFFFFFFU;
}

Source::Source(std::size_t index, CaptureReader reader, capture::ClockShift shift)
    : index_(index),
      reader_(std::move(reader)),
      shift_(shift),
      on_undeclared_([index](IdKind, std::uint32_t own) { return undeclared_id(index, own); }) {}

Declarations Source::absorb(capture::Numbering& numbering, std::vector<EventBatch> unwritten) {
  Declarations declared = ids_.declare(reader_.declarations(), numbering);
  const std::vector<BlockInfo>& blocks = reader_.blocks();
  for (; blocks_seen_ < blocks.size(); ++blocks_seen_) {
    if (blocks[blocks_seen_].kind == BlockKind::events) {
      event_blocks_.push_back(static_cast<std::uint32_t>(blocks_seen_));
    }
  }
  // Batches found in memory before are in the file by now, or are found again.
  unwritten_ = std::move(unwritten);
  for (EventBatch& batch : unwritten_) {
    base::append(declared, ids_.declare(batch.declarations, numbering));
  }
  note_ends(declared);
  for (std::size_t block = 0; block < block_count(); ++block) {
    const std::int64_t end = std::max(end_ns(block), start_ns(block));
    // A recorder's clock counts from boot. A time of 0 comes from a thread that recorded nothing.
    const bool has_start = reader_.header().owner_pid == 0 || start_ns(block) != shift_.offset_ns;
    const std::int64_t start = has_start ? start_ns(block) : end;
    range_.start_ns = block == 0 ? start : std::min(range_.start_ns, start);
    range_.end_ns = block == 0 ? end : std::max(range_.end_ns, end);
  }
  return declared;
}

void Source::note_ends(const Declarations& declared) {
  if (reader_.header().owner_pid != 0) {
    return;
  }
  for (const InfoDeclaration& info : declared.infos) {
    if (info.key == capture::end_key) {
      process_ends_ns_[info.process] =
          capture::add_times(std::strtoll(info.value.c_str(), nullptr, 10), shift_.offset_ns);
    }
  }
  for (const TrackDeclaration& track : declared.tracks) {
    processes_of_tracks_[track.id] = track.process;
  }
}

std::int64_t Source::end_ns_of(TrackId track) const {
  const auto process = processes_of_tracks_.find(track);
  if (process == processes_of_tracks_.end()) {
    return range_.end_ns;
  }
  const auto end = process_ends_ns_.find(process->second);
  return end == process_ends_ns_.end() ? range_.end_ns : std::min(end->second, range_.end_ns);
}

std::int64_t Source::start_ns(std::size_t block) const {
  const std::int64_t own_ns = block < event_blocks_.size() ? reader_.blocks()[event_blocks_[block]].start_ns
                                                           : unwritten_[block - event_blocks_.size()].start_ns;
  return capture::add_times(own_ns, shift_.offset_ns);
}

std::int64_t Source::end_ns(std::size_t block) const {
  const std::int64_t own_ns = block < event_blocks_.size() ? reader_.blocks()[event_blocks_[block]].end_ns
                                                           : unwritten_[block - event_blocks_.size()].end_ns;
  return capture::add_times(own_ns, shift_.offset_ns);
}

std::uint32_t Source::block_number(std::size_t block) const {
  if (block < event_blocks_.size()) {
    return reader_.blocks()[event_blocks_[block]].number;
  }
  const std::uint32_t last = reader_.blocks().empty() ? 0 : reader_.blocks().back().number;
  return last + 1 + static_cast<std::uint32_t>(block - event_blocks_.size());
}

bool Source::read_own(std::size_t block, BatchParts parts, EventBatch& batch) const {
  if (block >= event_blocks_.size()) {
    batch = unwritten_[block - event_blocks_.size()];
    if (parts == BatchParts::others || parts == BatchParts::samples || parts == BatchParts::states ||
        parts == BatchParts::stacks) {
      batch.runs.clear();
    }
  } else if (!reader_.read(reader_.blocks()[event_blocks_[block]], batch, parts)) {
    return false;
  }
  batch.follows_loss = batch.follows_loss || follows_gap(block);
  batch.declarations.clear();
  return true;
}

/// Whether blocks of any kind are missing between an EVENTS block and the one before.
bool Source::follows_gap(std::size_t block) const {
  if (block == 0 || block >= event_blocks_.size()) {
    return false;
  }
  const std::uint32_t before = event_blocks_[block - 1];
  const std::uint32_t here = event_blocks_[block];
  return reader_.blocks()[here].number - reader_.blocks()[before].number != here - before;
}

/// Whether a block holds more events than its bytes can distinguish. They could name any number of ids, and consumers
/// keep one entry per id. The translation merges undeclared ids.
bool Source::is_suspicious(std::size_t block, const EventBatch& batch) const {
  if (block >= event_blocks_.size()) {
    return false;
  }
  std::size_t events = batch.spans.size() + batch.async_begins.size() + batch.frame_marks.size() + batch.flows.size();
  for (const ScopeRun& run : batch.runs) {
    events += run.events.size();
  }
  constexpr std::size_t usual_events_a_byte = 4;
  return events > usual_events_a_byte * std::size_t{reader_.blocks()[event_blocks_[block]].stored_bytes};
}

bool Source::read(std::size_t block, BatchParts parts, EventBatch& batch) const {
  if (!read_own(block, parts, batch)) {
    return false;
  }
  // A timeline of one capture with consecutive ids needs no translation of its events.
  if (!keeps_ids() || is_suspicious(block, batch)) {
    ids_.translate(batch, on_undeclared_);
  }
  capture::shift_times(batch, shift_.offset_ns);
  if (redaction_) {
    redaction_->redact(batch);
  }
  return true;
}

std::vector<Span> Source::open_async() const {
  const std::lock_guard lock(open_async_->mutex);
  const std::vector<TrackTotals>& totals = reader_.end().tracks;
  const bool may_have_drops =
      !reader_.is_closed() || std::any_of(totals.begin(), totals.end(), [](const TrackTotals& track) {
        return track.dropped_scopes + track.dropped_others != 0;
      });
  EventBatch batch;
  EventBatch drops;
  bool is_damaged = false;
  const auto take = [&](std::size_t block, OpenAsyncSpans& spans) {
    if (read(block, BatchParts::others, batch)) {
      batch.follows_loss = batch.follows_loss || std::exchange(is_damaged, false);
      if (may_have_drops && read(block, BatchParts::sequences, drops)) {
        batch.runs.swap(drops.runs);
      }
      spans.take(batch);
    } else {
      is_damaged = true;
    }
  };
  for (; open_async_->next_block < event_blocks_.size(); ++open_async_->next_block) {
    take(open_async_->next_block, open_async_->spans);
  }
  OpenAsyncSpans spans = open_async_->spans;
  for (std::size_t block = event_blocks_.size(); block < block_count(); ++block) {
    take(block, spans);
  }
  spans.take_end(totals);
  SpanList open;
  spans.append([this](TrackId track) { return end_ns_of(track); }, open);
  std::stable_sort(open.spans.begin(), open.spans.end(),
                   [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  return open.spans;
}

}  // namespace kymo::timeline
