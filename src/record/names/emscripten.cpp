// Memory of interned names in a WebAssembly program. All its memory is committed, so names are stored in blocks
// allocated on demand.
#include <cstdlib>

#include "record/names/intern_table.hpp"

namespace kymo::record {

namespace {

constexpr std::size_t block_bytes = 64 * 1024;

}  // namespace

// The table lives as long as the program, so nothing is freed.
InternTable::~InternTable() = default;

bool InternTable::map_memory() noexcept {
  if (buckets_.load(std::memory_order_relaxed) == nullptr) {
    // All-zero bytes are null pointers.
    buckets_.store(static_cast<std::atomic<InternedName*>*>(std::calloc(bucket_count, sizeof(InternedName*))),
                   std::memory_order_relaxed);
  }
  return buckets_.load(std::memory_order_relaxed) != nullptr;
}

void* InternTable::allocate(std::size_t bytes) noexcept {
  const std::size_t rounded = (bytes + alignof(InternedName) - 1) / alignof(InternedName) * alignof(InternedName);
  if (arena_ == nullptr || arena_used_ + rounded > block_bytes) {
    auto* const block = static_cast<std::byte*>(std::calloc(1, block_bytes));
    if (block == nullptr) {
      return nullptr;
    }
    arena_ = block;
    arena_used_ = 0;
  }
  void* const memory = arena_ + arena_used_;
  arena_used_ += rounded;
  return memory;
}

}  // namespace kymo::record
