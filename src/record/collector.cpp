#include "record/collector.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include "base/append.hpp"
#include "base/message.hpp"
#include "record/chunk_chain.hpp"
#include "record/clock.hpp"
#include "record/collector_parts.hpp"
#include "record/process_memory.hpp"

namespace kymo::record {

namespace {

/// A batch is handed on once it holds this many words: 65,536 scopes, about 256 KiB of a capture.
constexpr std::size_t most_batch_words = 131'072;
constexpr std::int64_t anchor_period_ns = 1'000'000'000;

}  // namespace

Collector::Collector(Pool& pool, Declarations known, CollectorOptions options)
    : pool_(pool), options_(std::move(options)), known_(std::move(known)), clock_(counter_step_ns()) {
  for (const FrameStreamDeclaration& stream : known_.frame_streams) {
    main_stream_ = stream.name.empty() ? stream.id : main_stream_;
  }
  clear_batch(batch_);
  // So that the first events lie between two pairs, like all others.
  take_clock_pair();
}

void Collector::work() {
  if (is_held_.load(std::memory_order_acquire)) {
    pool_.header().taken.store(0, std::memory_order_relaxed);
  } else {
    drain();
  }
  serve_requests();
  answer_shared_requests();
  pool_.reserve_ahead();
}

void Collector::finish() {
  drain();
  serve_requests();
  while (!sinks_.empty()) {
    drop_sink(sinks_.size() - 1);
  }
  is_finished_ = true;
}

void Collector::drain() {
  pool_.header().taken.store(0, std::memory_order_relaxed);
  look_at_tracks();
  take_clock_pair();
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    drain_track(*cursor);
  }
  hand_on();
  free_finished_tracks();
}

void Collector::look_at_tracks() {
  for (std::uint32_t i = 1; i < pool_.slot_count(); ++i) {
    TrackSlot& slot = pool_.slot(i);
    const SlotState state = slot.state.load(std::memory_order_acquire);
    if (state != SlotState::active && state != SlotState::exited) {
      continue;
    }
    const auto found =
        std::find_if(tracks_.begin(), tracks_.end(), [&](const auto& cursor) { return cursor->slot == &slot; });
    if (found == tracks_.end()) {
      tracks_.push_back(std::make_unique<TrackCursor>(slot));
    }
  }
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    // The state before the cursor: a thread that is seen to have exited publishes nothing more.
    cursor->has_exited = cursor->slot->state.load(std::memory_order_acquire) == SlotState::exited;
    cursor->published = cursor->slot->cursor.load(std::memory_order_acquire);
  }
}

void Collector::take_clock_pair() {
  const ClockPair pair = read_clock_pair();
  if (const std::optional<ClockUncertainty> uncertainty = clock_.add(pair)) {
    // It may reach back into batches that were handed on and forward past this one; it does not widen the batch.
    batch_.clock_uncertainties.push_back(*uncertainty);
  }
  clock_.commit(pair.counter);
  SpoolHeader& header = pool_.header();
  const std::uint64_t count = header.pair_count.load(std::memory_order_relaxed);
  header.pairs[count % spool_pair_count] = {pair.counter, pair.monotonic_ns, pair.bracket};
  header.pair_count.store(count + 1, std::memory_order_release);
}

void Collector::drain_track(TrackCursor& cursor) {
  DecodeContext context{clock_, samples_, open_async_};
  if (const std::uint32_t first = cursor.slot->first_chunk.load(std::memory_order_acquire);
      !cursor.has_chunk && first != 0) {
    cursor.enter(first - 1, pool_);
  }
  while (cursor.has_chunk && cursor.published != nullptr) {
    Chunk& chunk = pool_.chunk(cursor.chunk);
    const auto [end, is_last, next] = readable_words(chunk, cursor.published, pool_.words_of(cursor.chunk));
    if (end > cursor.offset) {
      cursor.decoder.decode({chunk.words + cursor.offset, end - cursor.offset}, batch_, context);
      batch_words_ += end - cursor.offset;
      cursor.offset = end;
    }
    if (is_last) {
      break;
    }
    chunks_read_.push_back(cursor.chunk);
    cursor.enter(next - 1, pool_);
    if (batch_words_ >= most_batch_words || chunks_read_.size() >= pool_.chunk_count() / 4) {
      hand_on();
    }
  }
  if (cursor.has_exited && !cursor.is_finished) {
    cursor.decoder.end_track(batch_);
    cursor.is_finished = true;
  }
}

void Collector::add_frame_metrics() {
  const bool has_frames =
      main_stream_ != 0 && std::any_of(batch_.frame_marks.begin(), batch_.frame_marks.end(),
                                       [this](const FrameMark& mark) { return mark.stream == main_stream_; });
  if (!has_frames || !options_.declare_metric) {
    return;
  }
  const MetricId frame_ms = options_.declare_metric("frame_ms", "ms");
  for (const FrameMark& mark : batch_.frame_marks) {
    if (mark.stream != main_stream_) {
      continue;
    }
    if (last_frame_ns_ != 0) {
      samples_.add(batch_, frame_ms, mark.time_ns, static_cast<double>(mark.time_ns - last_frame_ns_) / 1e6);
    }
    last_frame_ns_ = mark.time_ns;
  }
  if (const std::uint64_t bytes = resident_memory_bytes()) {
    const auto now_ns = static_cast<std::int64_t>(monotonic_ns());
    samples_.add(batch_, options_.declare_metric("memory_mb", "MB"), now_ns, static_cast<double>(bytes) / 1e6);
    cover(batch_, now_ns);
  }
}

void Collector::absorb_declarations() {
  const TrackSlot& log = pool_.slot(0);
  if (log.cursor.load(std::memory_order_acquire) == nullptr) {
    return;
  }
  if (!is_log_begun_) {
    log_chunk_ = log.first_chunk.load(std::memory_order_relaxed) - 1;
    is_log_begun_ = true;
  }
  Declarations fresh;
  std::vector<HookedSite> hooked;
  for (;;) {
    const Chunk& chunk = pool_.chunk(log_chunk_);
    // The cursor before `next`: when the cursor is seen to have left the chunk, `next` is seen too.
    const std::uint64_t* const published = log.cursor.load(std::memory_order_acquire);
    const std::uint32_t next = chunk.header.next.load(std::memory_order_acquire);
    const std::size_t end =
        next != no_chunk ? chunk.header.used_words : static_cast<std::size_t>(published - chunk.words);
    read_declarations({chunk.words + log_offset_, end - log_offset_}, fresh, hooked);
    log_offset_ = end;
    if (next == no_chunk) {
      break;
    }
    log_chunks_read_.push_back(log_chunk_);
    log_chunk_ = next - 1;
    log_offset_ = 0;
  }
  if (!hooked.empty() && options_.name_hooked_sites) {
    options_.name_hooked_sites(hooked, fresh);
  }
  for (const FrameStreamDeclaration& stream : fresh.frame_streams) {
    main_stream_ = stream.name.empty() ? stream.id : main_stream_;
  }
  base::append(known_, fresh);
  base::append(new_, fresh);
}

void Collector::lock_known() {
  known_mutex_.lock();
  absorb_declarations();
}

void Collector::unlock_known() {
  known_mutex_.unlock();
}

void Collector::take_new_declarations() {
  const std::lock_guard lock(known_mutex_);
  absorb_declarations();
  base::append(batch_.declarations, new_);
  new_.clear();
  base::append(chunks_read_, log_chunks_read_);
  log_chunks_read_.clear();
}

/// What is dropped for want of room comes without an event that would bring it along.
bool Collector::has_unstated_drops() const {
  return pool_.header().dropped_without_track.load(std::memory_order_relaxed) != dropped_without_track_ ||
         std::any_of(tracks_.begin(), tracks_.end(), [](const std::unique_ptr<TrackCursor>& cursor) {
           return cursor->slot->dropped_scopes.load(std::memory_order_relaxed) != cursor->dropped_scopes ||
                  cursor->slot->dropped_others.load(std::memory_order_relaxed) != cursor->dropped_others;
         });
}

void Collector::state_every_track(bool includes_quiet) {
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    const std::uint64_t scopes = cursor->slot->dropped_scopes.load(std::memory_order_relaxed);
    const std::uint64_t others = cursor->slot->dropped_others.load(std::memory_order_relaxed);
    const bool has_news = cursor->decoder.has_run() || cursor->decoder.has_open_scopes() || includes_quiet ||
                          scopes != cursor->dropped_scopes || others != cursor->dropped_others;
    if (has_news) {
      ScopeRun& run = cursor->decoder.run_in(batch_);
      run.dropped_scopes = cursor->dropped_scopes = scopes;
      run.dropped_others = cursor->dropped_others = others;
    }
  }
  const std::uint64_t dropped = pool_.header().dropped_without_track.load(std::memory_order_relaxed);
  if (dropped != dropped_without_track_ || (includes_quiet && dropped != 0)) {
    dropped_without_track_ = dropped;
    batch_.runs.emplace_back().dropped_scopes = dropped;
  }
}

/// What was dropped for sinks that are gone is not the next one's loss.
void Collector::forget_dropped() {
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    cursor->slot->dropped_scopes.store(0, std::memory_order_relaxed);
    cursor->slot->dropped_others.store(0, std::memory_order_relaxed);
    cursor->dropped_scopes = 0;
    cursor->dropped_others = 0;
  }
  pool_.header().dropped_without_track.store(0, std::memory_order_relaxed);
  dropped_without_track_ = 0;
}

void Collector::hand_on() {
  // Which stream is the main one, and then the metrics that its frames bring along.
  take_new_declarations();
  add_frame_metrics();
  take_new_declarations();
  const bool has_events = batch_.start_ns <= batch_.end_ns;
  if (!has_events && batch_.declarations.empty() && chunks_read_.empty() && !has_unstated_drops()) {
    return;
  }
  const auto now_ns = static_cast<std::int64_t>(monotonic_ns());
  if (now_ns >= next_anchor_ns_) {
    batch_.clock_anchors.push_back(read_clock_anchor());
    cover(batch_, batch_.clock_anchors.back().monotonic_ns);
    next_anchor_ns_ = now_ns + anchor_period_ns;
  }
  if (batch_.start_ns > batch_.end_ns) {
    cover(batch_, now_ns);
  }
  state_every_track(false);
  step(CollectorStep::decoded);
  give_to_sinks([this](Sink& sink) { sink.write(batch_); });
  step(CollectorStep::written);
  give_back();
  step(CollectorStep::released);
}

void Collector::give_to_sinks(const std::function<void(Sink&)>& call) {
  for (std::size_t i = 0; i < sinks_.size();) {
    try {
      call(*sinks_[i].sink);
      ++i;
      continue;
    } catch (const std::exception& failure) {
      base::say(failure.what());
    } catch (...) {
      base::say("a sink failed and was removed");
    }
    sinks_.erase(sinks_.begin() + static_cast<std::ptrdiff_t>(i));
    note_sinks(false);
  }
}

void Collector::give_back() {
  for (const std::uint32_t chunk : chunks_read_) {
    pool_.return_chunk(chunk);
  }
  chunks_read_.clear();
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    cursor->decoder.forget_run(batch_);
  }
  samples_.forget();
  batch_words_ = 0;
  clear_batch(batch_);
}

/// Not before the end of a drain: a batch that is handed on in the midst of it must not change the list of tracks.
void Collector::free_finished_tracks() {
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    if (cursor->is_finished) {
      if (cursor->has_chunk) {
        pool_.return_chunk(cursor->chunk);
      }
      cursor->slot->track.store(0, std::memory_order_relaxed);
      cursor->slot->state.store(SlotState::free, std::memory_order_release);
    }
  }
  std::erase_if(tracks_, [](const auto& cursor) { return cursor->is_finished; });
}

void Collector::step(CollectorStep at) const {
  if (options_.on_step) {
    options_.on_step(at);
  }
}

}  // namespace kymo::record
