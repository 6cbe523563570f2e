// The end of a capture, in shared memory: a flight recorder keeps it until a trigger.
//
//   RingHeader (128 bytes) | capacity bytes
//
// Blocks are contiguous at logical offsets that only grow; the byte of a logical offset is at offset modulo capacity.
// [first, end) are the offsets of complete blocks. A push releases old blocks before it overwrites them and publishes
// the new one after writing it, so that a killed process leaves only complete blocks. Those before `taken` were
// passed on; those in [taken, first) are lost.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/system/file.hpp"
#include "capture/format/block.hpp"

namespace kymo::capture {

struct RingHeader {
  std::uint64_t magic = 0;
  std::uint64_t capacity = 0;
  std::uint64_t owner_pid = 0;
  alignas(64) std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> end{0};
  std::atomic<std::uint64_t> taken{0};
};
static_assert(sizeof(RingHeader) == 128);

struct BlockRingOptions {
  std::string spool_id;  ///< names the file, so that recovery finds it; empty: private memory
  std::string directory = "/dev/shm";
  /// Beyond this size, new blocks replace the oldest. The ring is smaller where the machine has no room.
  std::uint64_t capacity_bytes = 64'000'000;
  std::uint64_t promised_bytes = 0;      ///< that the process will take besides: its pool
  std::chrono::nanoseconds duration{0};  ///< blocks that ended this long before the newest go; zero: never
};

/// Keeps the newest blocks. It takes memory as blocks come, at most half of what the machine can spare. Where the rest
/// of the room goes to others before it is full, it stays as small as it is. Not thread-safe.
class BlockRing {
 public:
  /// In shared memory if there is room, else in private memory, which does not survive kill -9. Throws WriteError if
  /// neither is available.
  explicit BlockRing(const BlockRingOptions& options);
  BlockRing(const BlockRing&) = delete;
  BlockRing& operator=(const BlockRing&) = delete;
  /// Deletes the file.
  ~BlockRing();

  /// Adds a complete block. A block larger than the ring is not kept.
  void push(std::span<const std::byte> block);

  /// Passes on every block, oldest first, and empties the ring.
  void take_all(const std::function<void(std::span<const std::byte> block)>& take);

  /// Whether blocks were replaced since the last take_all(), or since the start.
  [[nodiscard]] bool has_lost_blocks() const;

  [[nodiscard]] bool survives_kill() const { return !path_.empty(); }
  /// The size by now.
  [[nodiscard]] std::uint64_t capacity_bytes() const { return header_->capacity; }

 private:
  struct Kept {
    std::uint64_t offset;
    std::uint64_t size;
    std::int64_t end_ns;
  };

  [[nodiscard]] bool create_shared(const BlockRingOptions& options);
  [[nodiscard]] bool map(std::uint64_t capacity, int file);
  [[nodiscard]] bool reserve(std::uint64_t end);
  void give_up_oldest();
  void copy_in(std::uint64_t offset, std::span<const std::byte> bytes);

  base::KnownFile file_;
  std::string path_;
  std::string directory_;
  pid_t owner_;  // a forked child's copy must not delete the file
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  RingHeader* header_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t reserved_ = 0;  // the file has room for so many bytes of blocks
  std::vector<Kept> kept_;      // ascending; the first first_kept_ are gone
  std::size_t first_kept_ = 0;
  std::chrono::nanoseconds duration_;
};

/// What a dead process's ring holds.
struct HeldBlocks {
  std::vector<std::vector<std::byte>> blocks;  ///< the complete ones, oldest first
  bool follow_lost_ones = false;               ///< BlockRing::has_lost_blocks()
};

/// Nothing if there is no such ring, or it belongs neither to this user nor to `owner`. Trusts no byte.
[[nodiscard]] HeldBlocks read_block_ring(const std::string& spool_id, const std::string& directory = "/dev/shm",
                                         uid_t owner = static_cast<uid_t>(-1));

/// The process that created a ring; 0 if the file is no ring.
[[nodiscard]] std::uint64_t block_ring_owner(const std::string& path);

/// The path of a spool's ring; the file need not exist.
[[nodiscard]] std::string block_ring_path(const std::string& spool_id, const std::string& directory = "/dev/shm");

}  // namespace kymo::capture
