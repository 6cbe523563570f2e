// The pool: chunks of 64 KiB that recording threads take and the collector gives back, lock-free.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file.hpp"
#include "record/futex.hpp"
#include "record/spool_layout.hpp"

namespace kymo::record {

/// What holds the pool's memory.
enum class PoolBacking {
  spool,          ///< a tmpfs file: survives kill -9
  held_memfd,     ///< a memfd that `kymo record` holds too: survives kill -9
  private_memory  ///< lost with the process
};

struct PoolOptions {
  std::uint64_t bytes = default_pool_bytes;  ///< rounded down to whole chunks; clamped to what is allowed
  std::string spool_directory = "/dev/shm";  ///< must be a tmpfs
  int holder_socket = -1;                    ///< a connected socket of `kymo record` that takes a memfd; -1: none
};

/// The mapped pool. Stays mapped as long as the process lives: threads hold pointers into it.
class Pool {
 public:
  /// Maps and touches a pool: a spool where the directory is a tmpfs with room, else a held memfd, else private memory.
  /// Throws std::runtime_error when not even that much memory is to be had.
  static std::unique_ptr<Pool> create(const PoolOptions& options);

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Unmaps. The spool file is left; remove_spool() deletes it.
  ~Pool();

  [[nodiscard]] SpoolHeader& header() const { return *header_; }
  [[nodiscard]] TrackSlot& slot(std::uint32_t index) const { return slots_[index]; }
  [[nodiscard]] std::uint32_t slot_count() const { return header_->slot_count; }
  [[nodiscard]] Chunk& chunk(std::uint32_t index) const { return chunks_[index]; }
  [[nodiscard]] std::uint32_t chunk_count() const { return header_->chunk_count; }
  [[nodiscard]] PoolBacking backing() const { return backing_; }
  [[nodiscard]] const std::string& spool_path() const { return spool_path_; }
  [[nodiscard]] std::string spool_id() const;
  /// Why the pool is not a spool; empty when it is, and where there is nothing such.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  /// Takes a free chunk, or nothing when the pool is empty. Lock-free, async-signal-safe. Wakes the collector when many
  /// were taken since it last looked.
  [[nodiscard]] std::optional<std::uint32_t> take_chunk() noexcept;

  /// Gives a chunk back. Lock-free.
  void return_chunk(std::uint32_t index) noexcept;

  /// Claims a free slot, or nothing. Lock-free, async-signal-safe.
  [[nodiscard]] TrackSlot* claim_slot() noexcept;

  /// Wakes the collector if it sleeps. Async-signal-safe; a system call only when it sleeps.
  void wake_collector() noexcept;

  /// Deletes the spool file; the mapping stays.
  void remove_spool() noexcept;

  /// In a forked child: lets go of the parent's memory. Private memory takes its place, so that a write that the fork
  /// interrupted harms nobody.
  void abandon_in_child() noexcept;

 private:
  /// Where things lie in a pool.
  struct Layout {
    std::uint64_t chunks_offset;
    std::uint64_t total_bytes;
    std::uint32_t slots;
    std::uint32_t chunks;
  };

  Pool() = default;
  [[nodiscard]] static Layout plan(std::uint64_t bytes);
  /// Fills the mapping in.
  void lay_out(const Layout& layout, const std::uint64_t (&id)[2]);

  base::FileDescriptor file_;
  std::string spool_path_;
  std::string complaint_;
  PoolBacking backing_ = PoolBacking::private_memory;
  void* mapping_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  SpoolHeader* header_ = nullptr;
  TrackSlot* slots_ = nullptr;
  Chunk* chunks_ = nullptr;
};

}  // namespace kymo::record
