// The last stretch of a capture, in shared memory: what a flight recorder keeps until a trigger.
//
//   RingHeader (128 bytes) | capacity bytes
//
// Blocks stand one behind the other at logical offsets that only grow; the byte of a logical offset is at offset modulo
// capacity. [first, end) are the offsets of whole blocks. A push gives up old blocks before it overwrites them and
// publishes the new one after it is written, so that what a killed process leaves is whole.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file.hpp"
#include "capture/block.hpp"

namespace kymo::capture {

struct RingHeader {
  std::uint64_t magic = 0;
  std::uint64_t capacity = 0;
  std::uint64_t owner_pid = 0;
  alignas(64) std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> end{0};
};
static_assert(sizeof(RingHeader) == 128);

struct BlockRingOptions {
  std::string spool_id;  ///< names the file, so that recovery finds it; empty: private memory
  std::string directory = "/dev/shm";
  std::uint64_t capacity_bytes = 64'000'000;  ///< oldest blocks make room for new ones past this
  std::chrono::nanoseconds duration{0};       ///< blocks that ended so long before the newest are given up; zero: never
};

/// Keeps blocks, oldest first to go. One thread at a time.
class BlockRing {
 public:
  /// Reserves the memory. Shared memory where there is room, else private memory, which does not survive kill -9.
  /// Throws WriteError where neither is to be had.
  explicit BlockRing(const BlockRingOptions& options);
  BlockRing(const BlockRing&) = delete;
  BlockRing& operator=(const BlockRing&) = delete;
  /// Deletes the file.
  ~BlockRing();

  /// Adds a whole block. One that is larger than the ring is not kept.
  void push(std::span<const std::byte> block);

  /// Hands over every block, oldest first, and empties the ring.
  void take_all(const std::function<void(std::span<const std::byte> block)>& take);

  [[nodiscard]] bool survives_kill() const { return !path_.empty(); }

 private:
  struct Kept {
    std::uint64_t offset;
    std::uint64_t size;
    std::int64_t end_ns;
  };

  void give_up_oldest();
  void copy_in(std::uint64_t offset, std::span<const std::byte> bytes);

  std::string path_;
  pid_t owner_;  // a forked child's copy must not delete the file
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  RingHeader* header_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::vector<Kept> kept_;  // ascending; the first first_kept_ are gone
  std::size_t first_kept_ = 0;
  std::chrono::nanoseconds duration_;
};

/// The whole blocks that the ring of a dead process holds, oldest first. Nothing where there is no such ring, or it is
/// neither this user's nor `owner`'s. Trusts no byte.
[[nodiscard]] std::vector<std::vector<std::byte>> read_block_ring(const std::string& spool_id,
                                                                  const std::string& directory = "/dev/shm",
                                                                  uid_t owner = static_cast<uid_t>(-1));

/// The process that made a ring; 0 where it is none.
[[nodiscard]] std::uint64_t block_ring_owner(const std::string& path);

/// Where the ring of a spool is; the file need not exist.
[[nodiscard]] std::string block_ring_path(const std::string& spool_id, const std::string& directory = "/dev/shm");

}  // namespace kymo::capture
