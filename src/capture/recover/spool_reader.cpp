#include "capture/recover/spool_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/order.hpp"
#include "capture/read/source_losses.hpp"
#include "capture/write/unwritten.hpp"
#include "record/names/declaration_reader.hpp"
#include "record/names/function_namer.hpp"
#include "record/pool/published_words.hpp"
#include "record/pool/spool_layout.hpp"

namespace kymo::capture {

namespace {

constexpr std::size_t most_batch_words = 131'072;

/// The first byte from `offset` on outside a hole; `end` if there is none.
std::uint64_t skip_hole(int file, std::uint64_t offset, std::uint64_t end) {
  const off_t data = ::lseek(file, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) {
    return errno == ENXIO ? end : offset;
  }
  return std::min(static_cast<std::uint64_t>(data), end);
}

/// Decodes words of which the first `given` went to sinks, and adds the events in these to `found`.
std::size_t decode_counting(record::TrackDecoder& decoder, std::span<const std::uint64_t> words, std::size_t given,
                            EventBatch& batch, record::DecodeContext& context, TrackTotals& found) {
  const TrackTotals before = count_events(batch);
  const std::size_t taken = decoder.decode(words.first(given), batch, context);
  const TrackTotals after = count_events(batch);
  found.dropped_scopes += after.dropped_scopes - before.dropped_scopes;
  found.dropped_others += after.dropped_others - before.dropped_others;
  return taken == given ? taken + decoder.decode(words.subspan(given), batch, context) : taken;
}

}  // namespace

SpoolReader::SpoolReader(SpoolReader&&) noexcept = default;
SpoolReader& SpoolReader::operator=(SpoolReader&&) noexcept = default;
SpoolReader::~SpoolReader() = default;

std::optional<SpoolReader> SpoolReader::read(base::FileDescriptor file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  SpoolReader spool;
  spool.file_ = std::move(file);
  spool.header_ = std::make_unique<record::SpoolHeader>();
  if (!base::read_object_at(spool.file_.get(), *spool.header_, 0) ||
      !spool.is_sound(static_cast<std::uint64_t>(status.st_size)) || !spool.read_tracks() || !spool.read_chunks()) {
    return std::nullopt;
  }
  return spool;
}

bool SpoolReader::is_sound(std::uint64_t file_size) const {
  const record::SpoolHeader& head = header();
  if (head.magic != record::spool_magic || head.version != record::spool_version ||
      head.splits_offset != sizeof(record::SpoolHeader) || head.slots_offset % alignof(record::TrackSlot) != 0 ||
      head.slots_offset < head.splits_offset + head.most_chunks || head.most_slots > record::most_slots_of_all) {
    return false;
  }
  const std::uint64_t slots_end = head.slots_offset + std::uint64_t{head.most_slots} * sizeof(record::TrackSlot);
  const std::uint64_t chunks_size = std::uint64_t{head.most_chunks} * record::chunk_bytes;
  return chunks_size <= record::largest_pool_bytes && head.slots_offset <= file_size &&
         slots_end <= head.chunks_offset && head.chunks_offset <= file_size &&
         head.chunks_offset % record::chunk_bytes == 0 && chunks_size <= file_size - head.chunks_offset &&
         head.slot_count.load(std::memory_order_relaxed) <= head.most_slots &&
         head.chunk_count.load(std::memory_order_relaxed) <= head.most_chunks;
}

bool SpoolReader::read_tracks() {
  const std::uint64_t end =
      header().slots_offset + std::uint64_t{header().slot_count.load()} * sizeof(record::TrackSlot);
  const auto slot = std::make_unique<record::TrackSlot>();
  for (std::uint64_t offset = skip_hole(file_.get(), header().slots_offset, end); offset < end;) {
    const std::uint64_t index = (offset - header().slots_offset) / sizeof(record::TrackSlot);
    offset = header().slots_offset + index * sizeof(record::TrackSlot);
    if (!base::read_object_at(file_.get(), *slot, offset)) {
      return false;
    }
    if (slot->state.load(std::memory_order_relaxed) != record::SlotState::free) {
      Track& track = tracks_.emplace_back();
      track.slot = static_cast<std::uint32_t>(index);
      track.track = TrackId{slot->track.load(std::memory_order_relaxed)};
      track.has_exited = slot->state.load(std::memory_order_relaxed) == record::SlotState::exited;
      track.cursor = reinterpret_cast<std::uintptr_t>(slot->cursor.load(std::memory_order_relaxed));
      track.dropped_scopes = slot->dropped_scopes.load(std::memory_order_relaxed);
      track.dropped_others = slot->dropped_others.load(std::memory_order_relaxed);
      track.stated_drops = slot->stated_drops.load(std::memory_order_relaxed);
    }
    offset = skip_hole(file_.get(), offset + sizeof(record::TrackSlot), end);
  }
  return true;
}

bool SpoolReader::read_chunks() {
  const std::uint32_t count = header().chunk_count.load();
  std::vector<std::byte> splits(count);
  if (!base::read_exactly_at(file_.get(), splits, header().splits_offset)) {
    return false;
  }
  const std::uint64_t begin = header().chunks_offset;
  const std::uint64_t end = begin + std::uint64_t{count} * record::chunk_bytes;
  record::ChunkHeader head;
  for (std::uint64_t at = skip_hole(file_.get(), begin, end); at < end;) {
    const auto index = static_cast<std::uint32_t>((at - begin) / record::chunk_bytes);
    const bool is_split = splits[index] != std::byte{0};
    const std::uint32_t first = is_split ? header().most_chunks + index * record::pieces_a_chunk : index;
    for (std::uint32_t piece = 0; piece < (is_split ? record::pieces_a_chunk : 1); ++piece) {
      const record::ChunkPlace place = record::place_of(first + piece, header().most_chunks);
      if (!base::read_object_at(file_.get(), head, begin + place.offset)) {
        return false;
      }
      take_chunk(head, begin + place.offset + sizeof head, place.words);
    }
    at = skip_hole(file_.get(), begin + std::uint64_t{index + 1} * record::chunk_bytes, end);
  }
  for (auto& [track, used] : chunks_) {
    std::sort(used.begin(), used.end(),
              [](const UsedChunk& a, const UsedChunk& b) { return a.first_sequence < b.first_sequence; });
  }
  return true;
}

void SpoolReader::take_chunk(const record::ChunkHeader& head, std::uint64_t offset, std::size_t capacity) {
  const TrackId track{head.track.load(std::memory_order_relaxed)};
  const std::size_t words = track ? words_in(head, offset, capacity) : 0;
  if (words != 0) {
    const std::size_t written = std::min<std::size_t>(head.written_words.load(std::memory_order_relaxed), words);
    chunks_[track].push_back({offset, head.first_sequence, head.begun_at, words, written});
  }
}

/// The number of valid words in a chunk. `offset` is that of its first word.
std::size_t SpoolReader::words_in(const record::ChunkHeader& head, std::uint64_t offset, std::size_t capacity) const {
  const auto track = std::lower_bound(tracks_.begin(), tracks_.end(), head.slot,
                                      [](const Track& at, std::uint32_t slot) { return at.slot < slot; });
  const std::uint64_t cursor = track != tracks_.end() && track->slot == head.slot ? track->cursor : 0;
  return record::published_words(head, cursor, header().base_address + offset, capacity);
}

/// Empty if they cannot be read.
std::vector<std::uint64_t> SpoolReader::words_of(const UsedChunk& chunk) const {
  std::vector<std::uint64_t> words(chunk.words);
  if (!base::read_exactly_at(file_.get(), std::as_writable_bytes(std::span(words)), chunk.offset)) {
    words.clear();
  }
  return words;
}

std::string SpoolReader::id() const {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(header().id[0]),
                static_cast<unsigned long long>(header().id[1]));
  return text;
}

std::string SpoolReader::capture_path() const {
  const auto* const path = static_cast<const char*>(header().capture_path);
  return {path, ::strnlen(path, sizeof header().capture_path)};
}

std::uint64_t SpoolReader::owner_pid() const {
  return header().owner_pid;
}

bool SpoolReader::is_needless() const {
  return header().is_needless();
}

record::ClockMap SpoolReader::clock() const {
  const std::uint64_t count = header().pair_count.load(std::memory_order_relaxed);
  const std::uint64_t kept = std::min<std::uint64_t>(count, record::spool_pair_count);
  std::vector<record::ClockPair> pairs;
  for (std::uint64_t i = count - kept; i < count; ++i) {
    const record::SpoolPair& pair = header().pairs[i % record::spool_pair_count];
    pairs.push_back({pair.counter, pair.monotonic_ns, static_cast<std::uint32_t>(pair.bracket)});
  }
  const double step_ns = header().counter_step_ns;
  return record::ClockMap(pairs, step_ns > 0 && step_ns < 1e6 ? step_ns : 1.0);
}

/// The time of the collector's last drain, used for scopes that are still open and have no later event.
std::int64_t SpoolReader::last_seen_alive_ns() const {
  const std::uint64_t count = header().pair_count.load(std::memory_order_relaxed);
  return count == 0 ? 0 : header().pairs[(count - 1) % record::spool_pair_count].monotonic_ns;
}

void SpoolReader::read_log(EventBatch& batch) const {
  std::vector<record::HookedSite> unnamed;
  if (const auto log = chunks_.find(TrackId{record::log_track}); log != chunks_.end()) {
    for (const UsedChunk& used : log->second) {
      record::read_declarations(words_of(used), batch.declarations, unnamed);
    }
  }
  record::FunctionNamer().name(unnamed, batch.declarations);
}

/// How far each track's events went to sinks.
std::map<TrackId, TrackResume> SpoolReader::handed_on() const {
  std::map<TrackId, TrackResume> tracks;
  for (const auto& [track, used] : chunks_) {
    std::uint64_t& end = tracks[track].end_sequence;
    end = used.front().first_sequence;
    for (const UsedChunk& chunk : used) {
      end = chunk.written != 0 ? chunk.first_sequence + chunk.written : end;
    }
  }
  return tracks;
}

/// What is lost for want of room: all that the writer counted, less what it counted since it last stated that and what
/// is found here.
TrackTotals SpoolReader::unwritten_but(const TrackTotals& found, const TrackTotals& stated) const {
  const auto lost = [](std::uint64_t counted, std::uint64_t known, std::uint64_t again) {
    return counted <= known ? known : std::max(known, counted - std::min(counted, again));
  };
  const record::DropCounts counted = header().unwritten.load();
  TrackTotals all;
  all.dropped_scopes = lost(counted.scopes, stated.dropped_scopes, found.dropped_scopes);
  all.dropped_others = lost(counted.others, stated.dropped_others, found.dropped_others);
  return all;
}

std::vector<std::string> SpoolReader::decode(CaptureCoverage coverage,
                                             const std::function<void(const EventBatch&)>& on_batch) const {
  std::vector<std::string> notes;
  EventBatch batch;
  record::clear_batch(batch);
  const record::ClockMap clock_map = clock();
  const std::uint64_t pair_count = header().pair_count.load(std::memory_order_relaxed);
  const std::uint64_t last_look =
      pair_count != 0 ? header().pairs[(pair_count - 1) % record::spool_pair_count].counter : 0;
  record::SampleGatherer samples;
  record::DecodeContext context{clock_map, samples, coverage.async_spans};
  read_log(batch);
  const bool has_begun = coverage.has_begun;
  const auto own_drops = [has_begun](std::uint64_t dropped, std::uint64_t stated) {
    return has_begun ? dropped : dropped - std::min(dropped, stated);
  };
  if (!has_begun) {
    coverage.tracks = handed_on();
  }
  ChunksByTrack chunks = chunks_;
  chunks.erase(TrackId{record::log_track});
  std::map<TrackId, const Track*> owners;
  for (const Track& track : tracks_) {
    if (track.slot != 0 && track.track) {
      owners[track.track] = &track;
      chunks.try_emplace(track.track);  // it may have dropped everything since
    }
  }
  // What sinks were given and the capture lacks counts as unwritten, if it found no room there.
  const TrackTotals unwritten = unwritten_but({}, coverage.unwritten);
  const bool has_unstated_loss = unwritten.dropped_scopes != coverage.unwritten.dropped_scopes ||
                                 unwritten.dropped_others != coverage.unwritten.dropped_others;
  TrackTotals found;
  std::size_t batch_words = 0;
  const auto hand_on = [&](record::TrackDecoder* current) {
    coverage.async_spans.put_ended(batch);
    if (batch.start_ns > batch.end_ns) {
      batch.start_ns = batch.end_ns = last_seen_alive_ns();
    }
    base::put_in_time_order(batch);
    on_batch(batch);
    if (current != nullptr) {
      current->forget_run(batch);
    }
    samples.forget();
    record::clear_batch(batch);
    batch_words = 0;
  };
  for (const auto& [track, used] : chunks) {
    record::TrackDecoder decoder(track);
    TrackResume& resume = coverage.tracks[track];
    decoder.resume(std::move(resume.open), resume.last_ns);
    std::uint64_t next = resume.end_sequence;
    for (const UsedChunk& piece : used) {
      if (piece.first_sequence + piece.words <= next) {
        continue;
      }
      if (piece.first_sequence > next) {
        notes.push_back("track " + std::to_string(track.value()) + ": " + std::to_string(piece.first_sequence - next) +
                        " words are neither in the capture nor in the spool");
      }
      const std::vector<std::uint64_t> content = words_of(piece);
      if (content.empty()) {
        notes.push_back("track " + std::to_string(track.value()) + ": " + std::to_string(piece.words) +
                        " words of the spool cannot be read");
        continue;
      }
      const std::span<const std::uint64_t> words(content);
      decoder.begin_chunk(piece.begun_at, piece.first_sequence);
      decoder.looked(last_look, last_look);
      const std::size_t known = next > piece.first_sequence ? static_cast<std::size_t>(next - piece.first_sequence) : 0;
      decoder.skip(known);
      const std::size_t given = has_unstated_loss ? std::clamp(piece.written, known, piece.words) - known : 0;
      const std::size_t taken = given != 0
                                    ? decode_counting(decoder, words.subspan(known), given, batch, context, found)
                                    : decoder.decode(words.subspan(known), batch, context);
      if (taken != piece.words - known) {
        notes.push_back("track " + std::to_string(track.value()) + ": " + std::to_string(piece.words - known - taken) +
                        " words of a chunk are damaged");
      }
      next = piece.first_sequence + piece.words;
      batch_words += taken;
      if (batch_words >= most_batch_words) {
        hand_on(&decoder);
      }
    }
    if (const auto owner = owners.find(track); owner != owners.end()) {
      decoder.continue_at(next);
      ScopeRun& run = decoder.run_in(batch);
      run.dropped_scopes = own_drops(owner->second->dropped_scopes, owner->second->stated_drops);
      run.dropped_others = owner->second->dropped_others;
      if (owner->second->has_exited) {
        decoder.end_track(batch, last_seen_alive_ns());
      }
    }
  }
  const record::DropCounts trackless = header().dropped_without_track.load();
  const record::DropCounts stated = header().stated_without_track.load();
  const record::DropCounts own{own_drops(trackless.scopes, stated.scopes), own_drops(trackless.others, stated.others)};
  if (!(own == record::DropCounts{})) {
    ScopeRun& run = batch.runs.emplace_back();
    run.dropped_scopes = own.scopes;
    run.dropped_others = own.others;
  }
  if (has_unstated_loss) {
    state_unwritten(unwritten_but(found, coverage.unwritten), batch);
  }
  if (!notes.empty()) {
    batch.declarations.infos.push_back({ProcessId{1}, lacks_end_key, "1"});
  }
  hand_on(nullptr);
  return notes;
}

}  // namespace kymo::capture
