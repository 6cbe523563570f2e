// The pool: chunks of 64 KiB, taken by recording threads and given back by the collector, lock-free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/system/file.hpp"
#include "record/pool/spool_layout.hpp"

namespace kymo::record {

/// Backing of the pool's memory.
enum class PoolBacking {
  spool,          ///< a tmpfs file: survives kill -9
  held_memfd,     ///< a memfd that `kymo record` holds too: survives kill -9
  private_memory  ///< lost with the process
};

enum class ChunkSize { small, large };

struct PoolOptions {
  std::uint64_t bytes = default_pool_bytes;  ///< rounded down to whole chunks; clamped to allowed and free memory
  /// Reserve little, and more on demand: for processes that may end or exec soon.
  bool is_on_demand = false;
  std::string spool_directory = "/dev/shm";  ///< must be a tmpfs
  int holder_socket = -1;                    ///< connected socket of `kymo record` that takes a memfd; -1: none
};

/// The mapped pool. Stays mapped for the life of the process, as threads hold pointers into it.
class Pool {
 public:
  /// Maps a pool and reserves its beginning: a spool if the directory is a tmpfs with room, else a held memfd, else
  /// private memory. The pool takes at most half of what its tmpfs and the machine have free. Throws std::runtime_error
  /// if there is no memory for even the smallest pool. About 100 us.
  static std::unique_ptr<Pool> create(const PoolOptions& options);

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Unmaps. The spool file stays; remove_spool() deletes it.
  ~Pool();

  [[nodiscard]] SpoolHeader& header() const { return *header_; }
  [[nodiscard]] TrackSlot& slot(std::uint32_t index) const { return slots_[index]; }
  /// Slots possibly in use; those behind them are free.
  [[nodiscard]] std::uint32_t slot_count() const { return header_->slot_count.load(std::memory_order_acquire); }
  [[nodiscard]] Chunk& chunk(std::uint32_t index) const {
    return *reinterpret_cast<Chunk*>(chunks_ + place_of(index, header_->most_chunks).offset);
  }
  /// Whether a number read from the pool is a chunk's.
  [[nodiscard]] bool is_chunk(std::uint32_t index) const {
    const std::uint32_t most = header_->most_chunks;
    return index < most ? index < chunk_count() : (index - most) / pieces_a_chunk < chunk_count();
  }
  /// A chunk's capacity in words.
  [[nodiscard]] std::size_t words_of(std::uint32_t index) const { return place_of(index, header_->most_chunks).words; }
  /// Large chunks reserved so far.
  [[nodiscard]] std::uint32_t chunk_count() const { return header_->chunk_count.load(std::memory_order_relaxed); }
  /// Limit of large chunks.
  [[nodiscard]] std::uint32_t most_chunks() const { return header_->most_chunks; }
  [[nodiscard]] PoolBacking backing() const { return backing_; }
  [[nodiscard]] const std::string& spool_path() const { return spool_path_; }
  /// The spool's directory; empty if the pool is not a spool. Stays valid when the file is removed.
  [[nodiscard]] const std::string& spool_directory() const { return spool_directory_; }
  [[nodiscard]] std::string spool_id() const;
  /// Why the pool is not a spool. Empty if it is one, and on systems without spools.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  /// Takes a free chunk, or nothing if the pool is empty. Async-signal-safe. Lock-free, except for a system call if
  /// more of the pool must be reserved first. Wakes the collector if many were taken since its last look.
  [[nodiscard]] std::optional<std::uint32_t> take_chunk(ChunkSize size = ChunkSize::large) noexcept;

  /// Reserves the next part of the pool, so that threads need not. False if the whole pool is reserved.
  bool reserve_ahead() noexcept;

  /// Whether reserve_ahead() would reserve more.
  [[nodiscard]] bool is_to_grow() const noexcept;

  /// Gives a chunk back. Lock-free.
  void return_chunk(std::uint32_t index) noexcept;

  /// Claims a free slot, or nothing. Async-signal-safe.
  [[nodiscard]] TrackSlot* claim_slot() noexcept;

  /// Wakes the collector if it sleeps. Async-signal-safe; a system call only if it sleeps.
  void wake_collector() noexcept;
  /// Whether a chunk is free, or may be reserved. Without one, the next scope is dropped. Costs two loads.
  [[nodiscard]] bool may_have_chunk() const noexcept;
  /// Whether at most a sixteenth of the memory that it may take is free.
  [[nodiscard]] bool is_scarce() const noexcept;

  /// Deletes the spool file, and those of dead processes that nobody needs; the mapping stays.
  void remove_spool() noexcept;

  /// In a forked child: replaces the parent's memory by private memory, so that a write interrupted by the fork is
  /// harmless.
  void abandon_in_child() noexcept;

 private:
  /// Offsets and counts of a pool's parts.
  struct Layout {
    std::uint64_t slots_offset;
    std::uint64_t chunks_offset;
    std::uint64_t total_bytes;
    std::uint32_t most_slots;
    std::uint32_t most_chunks;
    std::uint32_t slots;   ///< reserved at the start
    std::uint32_t chunks;  ///< reserved at the start

    /// Bytes before the mapping that hold the threads' states (TrackSlot::own), at its beginning. Whole pages of any
    /// size.
    [[nodiscard]] std::uint64_t bytes_before() const;
    /// Of these, those in use.
    [[nodiscard]] std::uint64_t states_bytes() const;
  };

  explicit Pool(const PoolOptions& options) : is_on_demand_(options.is_on_demand) {}
  [[nodiscard]] static Layout plan(std::uint64_t bytes, bool is_on_demand);
  /// Initializes the reserved beginning of the mapping.
  void lay_out(const Layout& layout, const std::uint64_t (&id)[2]);
  /// Backs a part of the mapping with memory, zero at first, so that no access to it fails or faults. Several threads
  /// may reserve the same part. Async-signal-safe.
  [[nodiscard]] bool reserve(std::uint64_t offset, std::uint64_t bytes) noexcept;
  [[nodiscard]] bool open_backing(PoolBacking backing, const PoolOptions& options, const std::uint64_t (&id)[2],
                                  std::uint64_t bytes);
  [[nodiscard]] bool map(const Layout& layout) noexcept;
  /// False if nothing more can be reserved. Lock-free: a thread that was pushed off its core here holds nobody up.
  bool reserve_chunks(std::uint32_t count) noexcept;
  bool reserve_slots() noexcept;
  [[nodiscard]] std::uint32_t take_piece() noexcept;
  void add_free(std::uint32_t index) noexcept;
  [[nodiscard]] auto link() const noexcept {
    return [this](std::uint32_t index) -> std::atomic<std::uint32_t>& { return chunk(index).header.free_next; };
  }

  base::KnownFile file_;
  std::string spool_path_;
  std::string spool_directory_;
  std::string complaint_;
  PoolBacking backing_ = PoolBacking::private_memory;
  void* states_ = nullptr;  ///< what the threads keep to themselves
  std::uint64_t states_bytes_ = 0;
  void* mapping_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  SpoolHeader* header_ = nullptr;
  TrackSlot* slots_ = nullptr;
  std::byte* chunks_ = nullptr;
  bool is_on_demand_ = false;
  std::atomic<bool> is_full_{false};  ///< nothing more could be reserved
  std::atomic<std::uint32_t> next_slot_{1};
};

}  // namespace kymo::record
