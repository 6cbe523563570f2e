#include "capture/spool_reader.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/system.hpp"
#include "record/declaration_reader.hpp"
#include "record/function_namer.hpp"
#include "record/spool_layout.hpp"

namespace kymo::capture {

namespace {

constexpr std::size_t most_batch_words = 131'072;
constexpr std::size_t alignment = alignof(record::TrackSlot);

std::string bounded_text(const char* text, std::size_t capacity) {
  return {text, ::strnlen(text, capacity)};
}

}  // namespace

SpoolReader::SpoolReader(SpoolReader&&) noexcept = default;
SpoolReader& SpoolReader::operator=(SpoolReader&&) noexcept = default;
SpoolReader::~SpoolReader() = default;

std::optional<SpoolReader> SpoolReader::read(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(record::SpoolHeader))) {
    return std::nullopt;
  }
  SpoolReader spool;
  spool.size_ = static_cast<std::size_t>(status.st_size);
  spool.storage_.resize(spool.size_ + alignment);
  void* aligned = spool.storage_.data();
  std::size_t space = spool.storage_.size();
  std::align(alignment, spool.size_, aligned, space);
  auto* const bytes = static_cast<std::byte*>(aligned);
  spool.bytes_ = bytes;
  if (base::read_fully_at(file, {bytes, spool.size_}, 0) != static_cast<std::int64_t>(spool.size_) ||
      !spool.is_sound()) {
    return std::nullopt;
  }
  return spool;
}

const record::SpoolHeader& SpoolReader::header() const {
  return *reinterpret_cast<const record::SpoolHeader*>(bytes_);
}

const record::TrackSlot& SpoolReader::slot(std::uint32_t index) const {
  return reinterpret_cast<const record::TrackSlot*>(bytes_ + header().slots_offset)[index];
}

const record::Chunk& SpoolReader::chunk(std::uint32_t index) const {
  const record::ChunkPlace place = record::place_of(index, header().most_chunks);
  return *reinterpret_cast<const record::Chunk*>(bytes_ + header().chunks_offset + place.offset);
}

bool SpoolReader::is_sound() const {
  const record::SpoolHeader& head = header();
  if (head.magic != record::spool_magic || head.version != record::spool_version ||
      head.splits_offset != sizeof(record::SpoolHeader) || head.slots_offset % alignment != 0 ||
      head.slots_offset < head.splits_offset + head.most_chunks || head.most_slots > record::most_slots_of_all) {
    return false;
  }
  const std::uint64_t slots_end = head.slots_offset + std::uint64_t{head.most_slots} * sizeof(record::TrackSlot);
  return head.slots_offset <= size_ && slots_end <= head.chunks_offset && head.chunks_offset <= size_ &&
         head.chunks_offset % record::chunk_bytes == 0 &&
         head.most_chunks <= (size_ - head.chunks_offset) / record::chunk_bytes &&
         head.slot_count.load(std::memory_order_relaxed) <= head.most_slots &&
         head.chunk_count.load(std::memory_order_relaxed) <= head.most_chunks;
}

bool SpoolReader::is_split(std::uint32_t large_chunk) const {
  return bytes_[header().splits_offset + large_chunk] != std::byte{0};
}

std::string SpoolReader::id() const {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(header().id[0]),
                static_cast<unsigned long long>(header().id[1]));
  return text;
}

std::string SpoolReader::boot_id() const {
  return bounded_text(static_cast<const char*>(header().boot_id), sizeof header().boot_id);
}

std::string SpoolReader::capture_path() const {
  return bounded_text(static_cast<const char*>(header().capture_path), sizeof header().capture_path);
}

std::uint64_t SpoolReader::owner_pid() const {
  return header().owner_pid;
}

bool SpoolReader::is_saved() const {
  return header().is_saved.load(std::memory_order_relaxed) != 0;
}

/// How many words of a chunk were published: all up to where its thread moved on, or up to the cursor of its track.
std::size_t SpoolReader::words_in(std::uint32_t index) const {
  const record::ChunkHeader& head = chunk(index).header;
  const record::ChunkPlace place = record::place_of(index, header().most_chunks);
  if (head.next.load(std::memory_order_relaxed) != record::no_chunk) {
    return std::min<std::size_t>(head.used_words, place.words);
  }
  if (head.slot >= header().slot_count.load(std::memory_order_relaxed)) {
    return 0;
  }
  // A cursor is an address in the owner's mapping.
  const auto cursor = reinterpret_cast<std::uintptr_t>(slot(head.slot).cursor.load(std::memory_order_relaxed));
  const std::uint64_t first_word =
      header().base_address + header().chunks_offset + place.offset + sizeof(record::ChunkHeader);
  if (cursor < first_word || cursor > first_word + place.words * sizeof(std::uint64_t)) {
    return 0;
  }
  return static_cast<std::size_t>(cursor - first_word) / sizeof(std::uint64_t);
}

SpoolReader::ChunksByTrack SpoolReader::used_chunks() const {
  ChunksByTrack chunks;
  const auto look_at = [&](std::uint32_t index) {
    const record::ChunkHeader& head = chunk(index).header;
    const std::size_t words = words_in(index);
    if (const TrackId track = head.track.load(std::memory_order_relaxed); track != 0 && words != 0) {
      chunks[track].push_back({index, head.first_sequence, words});
    }
  };
  const std::uint32_t count = header().chunk_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!is_split(i)) {
      look_at(i);
      continue;
    }
    const std::uint32_t first = header().most_chunks + i * record::pieces_a_chunk;
    for (std::uint32_t piece = 0; piece < record::pieces_a_chunk; ++piece) {
      look_at(first + piece);
    }
  }
  for (auto& [track, used] : chunks) {
    std::sort(used.begin(), used.end(),
              [](const UsedChunk& a, const UsedChunk& b) { return a.first_sequence < b.first_sequence; });
  }
  return chunks;
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

/// When the collector last drained: what is only still open has no later event to tell the time.
std::int64_t SpoolReader::last_seen_alive_ns() const {
  const std::uint64_t count = header().pair_count.load(std::memory_order_relaxed);
  return count == 0 ? 0 : header().pairs[(count - 1) % record::spool_pair_count].monotonic_ns;
}

void SpoolReader::read_log(const std::vector<UsedChunk>& chunks, EventBatch& batch) const {
  std::vector<record::HookedSite> unnamed;
  for (const UsedChunk& used : chunks) {
    record::read_declarations({chunk(used.index).words, used.words}, batch.declarations, unnamed);
  }
  record::FunctionNamer().name(unnamed, batch.declarations);
}

std::vector<std::string> SpoolReader::decode(CaptureCoverage coverage,
                                             const std::function<void(const EventBatch&)>& on_batch) const {
  std::vector<std::string> notes;
  EventBatch batch;
  record::clear_batch(batch);
  const record::ClockMap clock_map = clock();
  record::SampleGatherer samples;
  record::DecodeContext context{clock_map, samples, coverage.open_async};
  ChunksByTrack chunks = used_chunks();
  read_log(chunks[record::log_track], batch);
  chunks.erase(record::log_track);
  std::map<TrackId, const record::TrackSlot*> owners;
  for (std::uint32_t i = 1; i < header().slot_count.load(std::memory_order_relaxed); ++i) {
    if (const TrackId track = slot(i).track.load(std::memory_order_relaxed); track != 0) {
      owners[track] = &slot(i);
      chunks.try_emplace(track);  // it may have dropped all that it has recorded since
    }
  }
  std::size_t batch_words = 0;
  const auto hand_on = [&](record::TrackDecoder* current) {
    if (batch.start_ns > batch.end_ns) {
      batch.start_ns = batch.end_ns = last_seen_alive_ns();
    }
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
        notes.push_back("track " + std::to_string(track) + ": " + std::to_string(piece.first_sequence - next) +
                        " words are neither in the capture nor in the spool");
      }
      const std::span<const std::uint64_t> words(chunk(piece.index).words, piece.words);
      decoder.begin_chunk(chunk(piece.index).header.time_base, piece.first_sequence);
      const std::size_t known = next > piece.first_sequence ? static_cast<std::size_t>(next - piece.first_sequence) : 0;
      decoder.skip(words.first(known));
      const std::size_t taken = decoder.decode(words.subspan(known), batch, context);
      if (taken != piece.words - known) {
        notes.push_back("track " + std::to_string(track) + ": " + std::to_string(piece.words - known - taken) +
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
      run.dropped_scopes = owner->second->dropped_scopes.load(std::memory_order_relaxed);
      run.dropped_others = owner->second->dropped_others.load(std::memory_order_relaxed);
      if (owner->second->state.load(std::memory_order_relaxed) == record::SlotState::exited) {
        decoder.end_track(batch, last_seen_alive_ns());
      }
    }
  }
  if (const std::uint64_t dropped = header().dropped_without_track.load(std::memory_order_relaxed)) {
    batch.runs.emplace_back().dropped_scopes = dropped;
  }
  hand_on(nullptr);
  return notes;
}

std::string find_spool(const std::string& id, const std::string& directory) {
  if (id.empty() || id.find('/') != std::string::npos) {
    return {};
  }
  const std::string ending = "-" + id + ".spool";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > ending.size() && name.rfind("kymo-", 0) == 0 &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
      return entry.path().string();
    }
  }
  return {};
}

bool has_living_owner(const std::string& spool_path) {
  // A process does not see its own locks, and would lose them all by closing another descriptor of the file. What it
  // has mapped, it owns.
  if (base::read_small_file("/proc/self/maps").find(spool_path) != std::string::npos) {
    return true;
  }
  const base::FileDescriptor file(::open(spool_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return file && ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool is_being_written(const CaptureReader& capture) {
  const std::string spool = find_spool(capture.header().spool_id);
  if (!spool.empty()) {
    return has_living_owner(spool);
  }
  const std::uint64_t pid = capture.header().owner_pid;
  const std::string boot_id = base::boot_id();
  const auto& processes = capture.declarations().processes;
  const bool is_here = !processes.empty() && processes.front().boot_id == boot_id;
  return is_here && pid != 0 && pid <= 0x7FFFFFFF && ::kill(static_cast<pid_t>(pid), 0) == 0;
}

}  // namespace kymo::capture
