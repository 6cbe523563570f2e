// Memory of interned names: a single mapping, whose unused pages take no memory.
#include <sys/mman.h>

#include "record/names/intern_table.hpp"

namespace kymo::record {

namespace {

// Room for the largest table with the longest names; pages are committed on first access.
constexpr std::size_t arena_bytes =
    InternTable::largest_count * (sizeof(InternedName) + InternTable::longest_text + alignof(InternedName));

constexpr std::size_t buckets_bytes = InternTable::bucket_count * sizeof(std::atomic<InternedName*>);

}  // namespace

InternTable::~InternTable() {
  if (std::atomic<InternedName*>* const buckets = buckets_.load(std::memory_order_relaxed)) {
    ::munmap(buckets, buckets_bytes + arena_bytes);
  }
}

bool InternTable::map_memory() noexcept {
  if (arena_ != nullptr) {
    return true;
  }
  void* const mapping = ::mmap(nullptr, buckets_bytes + arena_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return false;
  }
  arena_ = static_cast<std::byte*>(mapping) + buckets_bytes;
  // All-zero bytes are null pointers.
  buckets_.store(static_cast<std::atomic<InternedName*>*>(mapping), std::memory_order_release);
  return true;
}

void* InternTable::allocate(std::size_t bytes) noexcept {
  const std::size_t rounded = (bytes + alignof(InternedName) - 1) / alignof(InternedName) * alignof(InternedName);
  if (arena_used_ + rounded > arena_bytes) {
    return nullptr;
  }
  void* const memory = arena_ + arena_used_;
  arena_used_ += rounded;
  return memory;
}

}  // namespace kymo::record
