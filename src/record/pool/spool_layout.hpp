// Layout of the pool in memory, and in the spool that outlives a killed process:
//
//   SpoolHeader | split marks, a byte a chunk | TrackSlot x most_slots | (next multiple of 64 KiB) Chunk x most_chunks
//
// The file is sparse and has its full size from the start: only the first slot_count slots and chunk_count chunks are
// reserved. A chunk whose split mark is set consists of 32 small chunks of 2 KiB, for threads that record little.
//
// Chunks are numbered by index: large ones from 0, piece p of large chunk c is most_chunks + 32 c + p.
//
// In the owner's memory, each slot's thread has a private state at a fixed distance before the slot (TrackSlot::own).
// It is no part of the spool.
//
// The owner writes it, recovery reads it and trusts nothing in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <kymo/detail/thread_state.hpp>
#include <kymo/ids.hpp>

#include "record/pool/free_list.hpp"

namespace kymo::record {

inline constexpr std::uint64_t spool_magic = 0x31304C4F4F50534BU;  // "KSPOOL01"
inline constexpr std::uint32_t spool_version = 6;
inline constexpr std::size_t chunk_bytes = 64 * 1024;
inline constexpr std::size_t small_chunk_bytes = 2 * 1024;
inline constexpr std::uint32_t pieces_a_chunk = chunk_bytes / small_chunk_bytes;
inline constexpr std::size_t spool_pair_count = 64;
inline constexpr std::size_t smallest_pool_bytes = 1024 * 1024;
inline constexpr std::uint64_t largest_pool_bytes = std::uint64_t{16} << 30U;
#if defined(__EMSCRIPTEN__)
inline constexpr std::uint32_t most_slots_of_all = 512;
#else
inline constexpr std::uint32_t most_slots_of_all = 16'384;
#endif
/// Programs with 32-bit addresses are small.
inline constexpr std::size_t default_pool_bytes = (sizeof(void*) == 4 ? 4 : 16) * 1024 * 1024;

/// A simultaneous reading of the counter and CLOCK_MONOTONIC, in the spool's format.
struct SpoolPair {
  std::uint64_t counter;
  std::int64_t monotonic_ns;
  std::uint64_t bracket;
};

enum class Dropped { scope, other };

/// Numbers of dropped events.
struct DropCounts {
  std::uint64_t scopes = 0;
  std::uint64_t others = 0;

  friend bool operator==(const DropCounts& one, const DropCounts& other) noexcept {
    return one.scopes == other.scopes && one.others == other.others;
  }
};

/// The same in the spool's format.
struct SpoolDrops {
  std::atomic<std::uint64_t> scopes;
  std::atomic<std::uint64_t> others;

  [[nodiscard]] DropCounts load() const noexcept {
    return {scopes.load(std::memory_order_relaxed), others.load(std::memory_order_relaxed)};
  }
  void store(const DropCounts& counts) noexcept {
    scopes.store(counts.scopes, std::memory_order_relaxed);
    others.store(counts.others, std::memory_order_relaxed);
  }
  [[nodiscard]] std::atomic<std::uint64_t>& of(Dropped kind) noexcept {
    return kind == Dropped::scope ? scopes : others;
  }
};

struct SpoolHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t most_slots;
  std::uint32_t most_chunks;
  std::atomic<std::uint32_t> slot_count;   ///< slots that are reserved
  std::atomic<std::uint32_t> chunk_count;  ///< large chunks that are reserved
  std::uint32_t is_swept;                  ///< 1: a later process released the memory of events that are in files
  std::uint64_t total_bytes;
  std::uint64_t splits_offset;
  std::uint64_t slots_offset;
  std::uint64_t chunks_offset;
  std::uint64_t base_address;  ///< start of the owner's mapping: cursors are addresses there
  std::uint64_t id[2];         ///< random; the capture's header contains it
  std::uint64_t owner_pid;
  std::uint64_t owner_start;  ///< start time of the owner from /proc/PID/stat (field 22); 0: unknown
  std::uint64_t owner_pid_namespace;
  double counter_step_ns;
  char boot_id[40];
  char capture_path[1024];              ///< absolute, perhaps cut; empty until a capture is begun
  std::atomic<std::uint32_t> is_saved;  ///< 1: a finished capture contains everything
  std::atomic<std::uint32_t> writing;   ///< writes to captures under way: a kill leaves their ends torn

  alignas(128) std::atomic<std::uint64_t> free_head;        ///< tag << 32 | chunk index + 1
  alignas(128) std::atomic<std::uint64_t> small_free_head;  ///< the same of small chunks
  alignas(128) std::atomic<std::uint32_t> wake;             ///< futex: counts reasons to wake the collector
  std::atomic<std::uint32_t> is_asleep;                     ///< 1 while the collector waits on `wake`
  std::atomic<std::uint32_t> taken;           ///< pieces taken since the collector last looked; a large chunk is 32
  std::atomic<std::uint32_t> wake_threshold;  ///< in pieces
  std::atomic<std::uint32_t> free_count;      ///< in pieces
  std::atomic<std::uint32_t> trigger_requests;
  std::atomic<std::uint32_t> trigger_done;  ///< futex: requests answered
  std::atomic<std::uint32_t> crash_requests;
  std::atomic<std::uint32_t> crash_done;    ///< futex
  std::atomic<std::uint32_t> end_requests;  ///< the process is ending: captures have to be closed
  std::atomic<std::uint32_t> end_done;      ///< futex
  SpoolDrops dropped_without_track;         ///< dropped events of threads without a track
  SpoolDrops stated_without_track;          ///< of these, those reported to sinks
  SpoolDrops unwritten;                     ///< events that were drained while the capture had no room
  std::atomic<std::uint64_t> pair_count;    ///< pairs ever written; the newest is at (pair_count - 1) % 64
  SpoolPair pairs[spool_pair_count];

  /// In `writing`: the last batch for a capture could not be written, so its words are here alone.
  static constexpr std::uint32_t has_failed = std::uint32_t{1} << 31U;
  [[nodiscard]] bool lacks_batches() const noexcept {
    return (writing.load(std::memory_order_relaxed) & has_failed) != 0;
  }
  /// Whether a capture's end may be torn. It needs its spool then, to tell that nothing is missing.
  [[nodiscard]] bool is_torn() const noexcept { return writing.load(std::memory_order_relaxed) != 0; }
  /// Whether no capture lacks anything that is in it.
  [[nodiscard]] bool is_needless() const noexcept {
    return capture_path[0] == '\0' || (is_saved.load(std::memory_order_relaxed) != 0 && !is_torn());
  }
};

enum class SlotState : std::uint32_t {
  free = 0,
  claimed = 1,  ///< its thread is filling it in
  active = 2,
  exited = 3,  ///< its thread has ended; the collector drains and frees it
};

/// One recording thread or fiber, or the log of declarations (slot 0).
struct alignas(256) TrackSlot {
  /// What the thread keeps to itself: in private memory, at a fixed distance.
  [[nodiscard]] detail::ThreadState& own() noexcept {
    return *reinterpret_cast<detail::ThreadState*>(reinterpret_cast<std::uintptr_t>(this) - detail::cursor_distance);
  }
  [[nodiscard]] static TrackSlot& of(detail::ThreadState& own) noexcept {
    return *reinterpret_cast<TrackSlot*>(reinterpret_cast<std::uintptr_t>(&own) + detail::cursor_distance);
  }

  detail::Cursor cursor{nullptr};  ///< only the thread writes this cache line
  alignas(128) std::atomic<SlotState> state{SlotState::free};
  std::atomic<std::uint32_t> track{0};
  std::atomic<std::uint32_t> first_chunk{0};  ///< index + 1; 0 until the pool had a chunk for it
  std::uint32_t current_chunk = 0;            ///< index
  std::uint64_t os_thread_id = 0;
  std::atomic<std::uint64_t> dropped_scopes{0};
  std::atomic<std::uint64_t> dropped_others{0};
  std::atomic<std::uint64_t> stated_drops{0};  ///< of both, those reported to sinks
  TrackRole role = TrackRole::plain;
  std::atomic<bool> is_unwatched{false};  ///< the recorder is not told when its thread ends
  // Private to the thread: its name, cut, and the name's interned handle; 0: none yet.
  std::uint32_t name_handle = 0;
  char name[48] = {};
  /// Stack address of the thread at so many open scopes: see shed_left_scopes().
  std::uint32_t marked_depth = 0;
  std::uint64_t marked_stack = 0;
};

struct ChunkHeader {
  std::atomic<std::uint32_t> track{0};  ///< 0: free; log_track: the log of declarations
  std::uint32_t slot = 0;
  std::uint64_t first_sequence = 0;                ///< position of its first word in its track
  std::uint64_t begun_at = 0;                      ///< count
  std::uint32_t used_words = 0;                    ///< valid once `next` is set
  std::atomic<std::uint32_t> next{no_chunk};       ///< index + 1 of its thread's next chunk
  std::atomic<std::uint32_t> free_next{no_chunk};  ///< index + 1 of the next free chunk
  /// Words written by every sink. May lag if the process was killed meanwhile.
  std::atomic<std::uint32_t> written_words{0};
  std::uint32_t reserved[6] = {};
};

/// Words in a large chunk.
inline constexpr std::size_t chunk_words = (chunk_bytes - sizeof(ChunkHeader)) / sizeof(std::uint64_t);
inline constexpr std::size_t small_chunk_words = (small_chunk_bytes - sizeof(ChunkHeader)) / sizeof(std::uint64_t);

/// A small chunk has only the first small_chunk_words.
struct Chunk {
  ChunkHeader header;
  std::uint64_t words[chunk_words];
};

/// A chunk's offset from the first one, and its size in words.
struct ChunkPlace {
  std::uint64_t offset;
  std::size_t words;
};
[[nodiscard]] constexpr ChunkPlace place_of(std::uint32_t index, std::uint32_t most_chunks) noexcept {
  if (index < most_chunks) {
    return {std::uint64_t{index} * chunk_bytes, chunk_words};
  }
  return {std::uint64_t{index - most_chunks} * small_chunk_bytes, small_chunk_words};
}

/// Track number of the log of declarations.
inline constexpr std::uint32_t log_track = 0xFFFFFFFF;

/// Offset of the process's id in a flight recorder's ring (capture/block_ring.hpp), which lies beside the spool.
inline constexpr std::uint64_t ring_owner_offset = 16;

static_assert(sizeof(Chunk) == chunk_bytes);
static_assert(sizeof(ChunkHeader) == 64);
static_assert(sizeof(TrackSlot) == 256 && sizeof(detail::ThreadState) == sizeof(TrackSlot));
static_assert(sizeof(Chunk) == pieces_a_chunk * small_chunk_bytes);
static_assert(sizeof(SpoolHeader) <= 4096);

}  // namespace kymo::record
