#include "record/collector/collector.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/append.hpp"
#include "base/order.hpp"
#include "base/system/message.hpp"
#include "record/clock/clock.hpp"
#include "record/collector/parts.hpp"
#include "record/platform/platform.hpp"
#include "record/pool/chunk_chain.hpp"

namespace kymo::record {

namespace {

/// A batch is handed on once it holds this many words: 65,536 scopes, about 256 KiB of a capture.
constexpr std::size_t most_batch_words = 131'072;
/// In one drain. Almost always one is enough, for programs whose spans move between threads two.
constexpr unsigned most_looks = 16;
constexpr std::int64_t anchor_period_ns = 1'000'000'000;
constexpr std::int64_t unwatched_period_ns = 1'000'000'000;
constexpr std::size_t many_new_tracks = 256;

}  // namespace

Collector::Collector(Pool& pool, const Declarations* inherited, CollectorOptions options)
    : pool_(pool), options_(std::move(options)), clock_(counter_step_ns()) {
  if (inherited != nullptr) {
    known_.add(*inherited);
    // Threads do not survive a fork, so their names are dropped.
    std::vector<TrackId> threads;
    for (const TrackDeclaration& track : inherited->tracks) {
      if (track.kind == TrackKind::thread) {
        threads.push_back(track.id);
      }
    }
    known_.forget_tracks(threads);
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
  const bool was_asked = serve_requests();
  answer_shared_requests();
  drop_ended_sink();
  // Whoever asked continues now, perhaps on the same core: a start of recording, above all.
  if (!was_asked) {
    pool_.reserve_ahead();
  }
}

void Collector::finish() {
  drain();
  serve_requests();
  while (!sinks_.empty()) {
    drop_sink(sinks_.size() - 1);
  }
  is_finished_ = is_saved_;
}

void Collector::drain() {
  pool_.header().taken.store(0, std::memory_order_relaxed);
  end_unwatched_tracks();
  busy_.clear();
  drain_published();
  // A span may have begun on a track behind the look at it, and have ended on another before the look at that one. Its
  // end must not go into a file before its begin does: if the process is killed in between, it has no end.
  for (unsigned looks = 1; looks < most_looks && async_spans_.has_end_without_begin(); ++looks) {
    const std::uint64_t last_look = last_look_;
    drain_published();
    async_spans_.forget_without_begin(clock_.to_ns(last_look));
  }
  const bool is_quiet = busy_.empty();
  hand_on();
  hand_on_observed(Observation::more);
  free_finished_tracks();
  quiet_drains_ = is_quiet ? quiet_drains_ + 1 : 0;
}

/// Decodes what every thread has published so far.
void Collector::drain_published() {
  const std::uint64_t look = event_time();
  look_at_tracks();
  take_clock_pair();
  for (TrackCursor* const cursor : busy_) {
    cursor->decoder.looked(last_look_, look);
    drain_track(*cursor);
  }
  last_look_ = look;
}

/// Checks every slot once, to tell idle threads (there may be thousands) from active ones.
void Collector::look_at_tracks() {
  const std::uint32_t slots = pool_.slot_count();
  cursors_.resize(std::max<std::size_t>(cursors_.size(), slots));
  const std::size_t busy_before = busy_.size();
  for (std::uint32_t i = 1; i < slots; ++i) {
    TrackSlot& slot = pool_.slot(i);
    // Reads the state before the cursor: a thread seen to have exited publishes nothing more.
    const SlotState state = slot.state.load(std::memory_order_acquire);
    if (state != SlotState::active && state != SlotState::exited) {
      continue;
    }
    const std::uint64_t* const published = slot.cursor.load(std::memory_order_acquire);
    TrackCursor*& cursor = cursors_[i];
    if (cursor == nullptr) {
      cursor = tracks_.emplace_back(std::make_unique<TrackCursor>(slot)).get();
    }
    cursor->has_exited = state == SlotState::exited;
    if (cursor->has_exited || published != cursor->position(pool_) || cursor->has_unstated_drops()) {
      cursor->published = published;
      busy_.push_back(cursor);
    }
    step(CollectorStep::looked);
  }
  if (busy_before != 0) {
    std::sort(busy_.begin(), busy_.end());
    busy_.erase(std::unique(busy_.begin(), busy_.end()), busy_.end());
  }
  // Slots are reused in any order; older tracks are drained first.
  std::sort(busy_.begin(), busy_.end(),
            [](const TrackCursor* a, const TrackCursor* b) { return a->decoder.track() < b->decoder.track(); });
}

void Collector::take_clock_pair() {
  const ClockPair pair = read_clock_pair();
  if (const std::optional<ClockUncertainty> uncertainty = clock_.add(pair)) {
    // The interval may reach back into earlier batches and beyond this one; it does not widen the batch.
    batch_.clock_uncertainties.push_back(*uncertainty);
  }
  clock_.commit(pair.counter);
  SpoolHeader& header = pool_.header();
  const std::uint64_t count = header.pair_count.load(std::memory_order_relaxed);
  header.pairs[count % spool_pair_count] = {pair.counter, pair.monotonic_ns, pair.bracket};
  header.pair_count.store(count + 1, std::memory_order_release);
}

void Collector::drain_track(TrackCursor& cursor) {
  DecodeContext context{clock_, samples_, async_spans_};
  if (const std::uint32_t first = cursor.slot->first_chunk.load(std::memory_order_acquire);
      !cursor.has_chunk && first != 0) {
    cursor.enter(first - 1, pool_);
  }
  while (cursor.has_chunk && cursor.published != nullptr) {
    Chunk& chunk = pool_.chunk(cursor.chunk);
    auto [end, is_last, next] = readable_words(chunk, cursor.published, pool_.words_of(cursor.chunk));
    end = std::min(end, pool_.words_of(cursor.chunk));
    if (end > cursor.offset) {
      const std::span<const std::uint64_t> words(chunk.words + cursor.offset, end - cursor.offset);
      if (const std::size_t taken = cursor.decoder.decode(words, batch_, context); taken != words.size()) {
        cursor.decoder.skip(words.size() - taken);
        static base::SayOnce say_damaged;
        say_damaged("something wrote into the memory of kymo's events: some of what was recorded cannot be read");
        cursor.slot->dropped_others.fetch_add(1, std::memory_order_relaxed);
      }
      if (const std::uint64_t lost = async_spans_.take_lost(); lost != 0) {
        cursor.slot->dropped_others.fetch_add(lost, std::memory_order_relaxed);
      }
      batch_words_ += end - cursor.offset;
      cursor.offset = end;
    }
    // On an old kernel a child without fork handlers may have written beside its parent: then the next is unreachable.
    if (is_last || !pool_.is_chunk(next - 1)) {
      break;
    }
    chunks_read_.push_back(cursor.chunk);
    cursor.enter(next - 1, pool_);
    if (batch_words_ >= most_batch_words || chunks_read_.size() >= pool_.chunk_count() / 4) {
      hand_on();
    }
  }
  if (cursor.has_exited && !cursor.is_finished) {
    cursor.decoder.end_track(batch_, static_cast<std::int64_t>(monotonic_ns()));
    cursor.is_finished = true;
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
    // Reads the cursor before `next`: if the cursor has left the chunk, `next` is visible too.
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
  known_.add(fresh);
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
  log_taken_chunk_ = log_chunk_;
  log_taken_offset_ = log_offset_;
}

/// Events dropped for lack of room leave no other event to report them with.
bool Collector::has_unstated_drops() const {
  return !(pool_.header().dropped_without_track.load() == dropped_without_track_) ||
         std::any_of(busy_.begin(), busy_.end(),
                     [](const TrackCursor* cursor) { return cursor->has_unstated_drops(); });
}

/// A thread that found no room for an event may have found none for its declaration either. The collector then declares
/// the track, at first without a name: only the thread may read its name until it has ended.
void Collector::declare_if_unknown(TrackCursor& cursor) {
  if (cursor.is_declared) {
    return;
  }
  const std::lock_guard lock(known_mutex_);
  const TrackDeclaration* const known = known_.find_track(cursor.decoder.track());
  // A track that has a name, or that its thread declared, stays unchanged.
  cursor.is_declared = cursor.has_exited || (known != nullptr && !cursor.is_placed);
  if (known != nullptr && (!cursor.is_placed || !cursor.has_exited || !known->name.empty())) {
    return;
  }
  cursor.is_placed = true;
  const TrackSlot& slot = *cursor.slot;
  Declarations placed;
  TrackDeclaration& track = placed.tracks.emplace_back();
  track.id = cursor.decoder.track();
  track.process = ProcessId{1};
  track.os_thread_id = slot.os_thread_id;
  track.role = slot.role;
  // A thread may be changing its name; a fiber keeps its first one.
  if (cursor.has_exited || slot.role == TrackRole::fiber) {
    track.name.assign(slot.name, ::strnlen(slot.name, sizeof slot.name));
  }
  known_.add(placed);
  base::append(batch_.declarations, placed);
}

void Collector::state_every_track(bool includes_quiet) {
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    const std::uint64_t scopes = cursor->slot->dropped_scopes.load(std::memory_order_relaxed);
    const std::uint64_t others = cursor->slot->dropped_others.load(std::memory_order_relaxed);
    const bool has_news = cursor->decoder.has_run() || cursor->decoder.has_open_scopes() || includes_quiet ||
                          scopes != cursor->dropped_scopes || others != cursor->dropped_others;
    if (has_news) {
      declare_if_unknown(*cursor);
      ScopeRun& run = cursor->decoder.run_in(batch_);
      run.dropped_scopes = cursor->dropped_scopes = scopes;
      run.dropped_others = cursor->dropped_others = others;
    }
  }
  const DropCounts dropped = pool_.header().dropped_without_track.load();
  if (!(dropped == dropped_without_track_) || (includes_quiet && !(dropped == DropCounts{}))) {
    dropped_without_track_ = dropped;
    ScopeRun& run = batch_.runs.emplace_back();
    run.dropped_scopes = dropped.scopes;
    run.dropped_others = dropped.others;
  }
}

/// Drops counted for removed sinks are no loss of the next sink.
void Collector::forget_dropped() {
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    cursor->slot->dropped_scopes.store(0, std::memory_order_relaxed);
    cursor->slot->dropped_others.store(0, std::memory_order_relaxed);
    cursor->slot->stated_drops.store(0, std::memory_order_relaxed);
    cursor->dropped_scopes = 0;
    cursor->dropped_others = 0;
  }
  pool_.header().dropped_without_track.store({});
  dropped_without_track_ = {};
}

void Collector::hand_on() {
  if (options_.add_metrics) {
    options_.add_metrics(batch_, samples_);
  }
  take_new_declarations();
  async_spans_.put_ended(batch_);
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
  base::put_in_time_order(batch_);
  step(CollectorStep::decoded);
  give_to_sinks([this](Sink& sink) { sink.write(batch_); });
  step(CollectorStep::written);
  give_back();
  step(CollectorStep::released);
}

/// In a batch of its own: it reaches further back than the events that were drained meanwhile.
void Collector::hand_on_observed(Observation extent) {
  if (observer_ == nullptr && options_.observer != nullptr && !sinks_.empty()) {
    observer_ = options_.observer->load(std::memory_order_acquire);
  }
  if (observer_ == nullptr) {
    return;
  }
  extent = sinks_.empty() ? Observation::last : extent;
  EventBatch seen;
  if (observer_(&seen, extent)) {
    observed_.add(seen.declarations);
    // A scope that a batch does not name is closed for a reader.
    for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
      if (cursor->decoder.has_open_scopes()) {
        ScopeRun& run = cursor->decoder.run_in(seen);
        run.dropped_scopes = cursor->dropped_scopes;
        run.dropped_others = cursor->dropped_others;
      }
    }
    give_to_sinks([&seen](Sink& sink) { sink.write(seen); });
    for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
      cursor->decoder.forget_run(seen);
    }
  }
  if (extent == Observation::last) {
    observer_ = nullptr;
    observed_ = {};
  }
}

void Collector::give_to_sinks(const std::function<void(Sink&)>& call) {
  for (std::size_t i = 0; i < sinks_.size();) {
    try {
      call(*sinks_[i].sink);
      ++i;
      continue;
    } catch (const std::exception& failure) {
      base::say(std::string("a sink failed and gets nothing more: ") + failure.what());
    } catch (...) {
      base::say("a sink failed and gets nothing more");
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
  for (const TrackCursor* const cursor : busy_) {
    if (cursor->has_chunk) {
      state_written(cursor->chunk, cursor->offset);
    }
    cursor->slot->stated_drops.store(cursor->dropped_scopes + cursor->dropped_others, std::memory_order_relaxed);
  }
  if (is_log_begun_) {
    state_written(log_taken_chunk_, log_taken_offset_);
  }
  pool_.header().stated_without_track.store(dropped_without_track_);
  samples_.forget();
  batch_words_ = 0;
  clear_batch(batch_);
}

/// Shows the reader of a killed process's spool which words need no recovery.
void Collector::state_written(std::uint32_t chunk, std::size_t words) {
  pool_.chunk(chunk).header.written_words.store(static_cast<std::uint32_t>(words), std::memory_order_relaxed);
}

/// Only at the end of a drain: a batch handed on during the drain must not change the list of tracks.
void Collector::free_finished_tracks() {
  bool has_finished = false;
  for (TrackCursor* const cursor : busy_) {
    if (!cursor->is_finished) {
      continue;
    }
    has_finished = true;
    if (cursor->has_chunk) {
      pool_.return_chunk(cursor->chunk);
    }
    ended_tracks_.add(cursor->decoder.track());
    cursors_[static_cast<std::size_t>(cursor->slot - &pool_.slot(0))] = nullptr;
    cursor->slot->track.store(0, std::memory_order_relaxed);
    cursor->slot->stated_drops.store(0, std::memory_order_relaxed);
    cursor->slot->state.store(SlotState::free, std::memory_order_release);
  }
  busy_.clear();
  if (has_finished) {
    std::erase_if(tracks_, [](const auto& cursor) { return cursor->is_finished; });
    forget_ended_tracks();
  }
}

/// Every sink knows about their end; a later sink has none of their events.
void Collector::forget_ended_tracks() {
  const std::lock_guard lock(known_mutex_);
  if (ended_tracks_.are_due(known_.all().tracks.size())) {
    known_.forget_tracks(ended_tracks_.take());
  }
}

/// Ends the tracks of threads whose end is not reported to the recorder. Checked once a second, and where many tracks
/// are new: those of short threads would take the pool's slots and chunks.
void Collector::end_unwatched_tracks() {
  const auto now_ns = static_cast<std::int64_t>(monotonic_ns());
  if (now_ns < next_unwatched_look_ns_ && tracks_.size() < next_unwatched_look_tracks_) {
    return;
  }
  std::unordered_map<std::uint64_t, TrackId> youngest;
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    if (cursor->slot->is_unwatched.load(std::memory_order_relaxed) && cursor->slot->os_thread_id != 0) {
      TrackId& track = youngest[cursor->slot->os_thread_id];
      track = std::max(track, cursor->decoder.track());
    }
  }
  std::size_t ended = 0;
  for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
    TrackSlot& slot = *cursor->slot;
    if (!slot.is_unwatched.load(std::memory_order_relaxed) || slot.os_thread_id == 0) {
      continue;
    }
    // The kernel reuses thread ids: a younger track with the same id means that the older thread is gone.
    if (cursor->decoder.track() < youngest[slot.os_thread_id] || has_thread_ended(slot.os_thread_id)) {
      SlotState expected = SlotState::active;
      slot.state.compare_exchange_strong(expected, SlotState::exited, std::memory_order_acq_rel);
      ++ended;
    }
  }
  next_unwatched_look_ns_ = now_ns + unwatched_period_ns;
  next_unwatched_look_tracks_ = tracks_.size() - ended + many_new_tracks;
}

void Collector::step(CollectorStep at) const {
  if (options_.on_step) {
    options_.on_step(at);
  }
}

}  // namespace kymo::record
