#include "record/pool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include <unistd.h>

#include "base/system.hpp"

namespace kymo::record {

namespace {

auto link_of(Chunk* chunks) noexcept {
  return [chunks](std::uint32_t index) -> std::atomic<std::uint32_t>& { return chunks[index].header.free_next; };
}

}  // namespace

Pool::Layout Pool::plan(std::uint64_t bytes) {
  bytes = std::clamp<std::uint64_t>(bytes, smallest_pool_bytes, largest_pool_bytes);
  Layout layout{};
  layout.chunks = static_cast<std::uint32_t>(bytes / chunk_bytes);
  layout.slots = std::max<std::uint32_t>(layout.chunks, 64);
  const std::uint64_t head = sizeof(SpoolHeader) + std::uint64_t{layout.slots} * sizeof(TrackSlot);
  layout.chunks_offset = (head + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
  layout.total_bytes = layout.chunks_offset + std::uint64_t{layout.chunks} * chunk_bytes;
  return layout;
}

void Pool::lay_out(const Layout& layout, const std::uint64_t (&id)[2]) {
  auto* const bytes = static_cast<std::byte*>(mapping_);
  header_ = new (bytes) SpoolHeader{};
  slots_ = reinterpret_cast<TrackSlot*>(bytes + sizeof(SpoolHeader));
  for (std::uint32_t i = 0; i < layout.slots; ++i) {
    new (slots_ + i) TrackSlot;
  }
  chunks_ = reinterpret_cast<Chunk*>(bytes + layout.chunks_offset);
  // Writing every page now keeps page faults out of the recording threads.
  for (std::uint32_t i = 0; i < layout.chunks; ++i) {
    new (&chunks_[i].header) ChunkHeader;
    for (std::size_t word = 0; word < chunk_words; word += 512) {
      chunks_[i].words[word] = 0;
    }
    chunks_[i].header.free_next.store(i + 1 < layout.chunks ? i + 2 : no_chunk, std::memory_order_relaxed);
  }
  SpoolHeader& header = *header_;
  header.version = spool_version;
  header.slot_count = layout.slots;
  header.chunk_count = layout.chunks;
  header.total_bytes = layout.total_bytes;
  header.slots_offset = sizeof(SpoolHeader);
  header.chunks_offset = layout.chunks_offset;
  header.base_address = reinterpret_cast<std::uintptr_t>(mapping_);
  header.owner_pid = static_cast<std::uint64_t>(::getpid());
  const std::string boot_id = base::boot_id().substr(0, 36);
  std::memcpy(header.boot_id, boot_id.c_str(), boot_id.size() + 1);
  header.free_head.store(1, std::memory_order_relaxed);
  header.free_count.store(layout.chunks, std::memory_order_relaxed);
  header.wake_threshold.store(std::clamp<std::uint32_t>(layout.chunks / 8, 1, 16), std::memory_order_relaxed);
  header.is_saved.store(1, std::memory_order_relaxed);
  slots_[0].state.store(SlotState::claimed, std::memory_order_relaxed);
  std::memcpy(header.id, id, sizeof id);
  std::atomic_thread_fence(std::memory_order_release);
  header.magic = spool_magic;
}

std::string Pool::spool_id() const {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(header_->id[0]),
                static_cast<unsigned long long>(header_->id[1]));
  return text;
}

std::optional<std::uint32_t> Pool::take_chunk() noexcept {
  SpoolHeader& header = *header_;
  const std::uint32_t top = pop_free(header.free_head, link_of(chunks_));
  if (top == no_chunk) {
    wake_collector();
    return std::nullopt;
  }
  header.free_count.fetch_sub(1, std::memory_order_relaxed);
  if (header.taken.fetch_add(1, std::memory_order_seq_cst) + 1 >=
      header.wake_threshold.load(std::memory_order_relaxed)) {
    wake_collector();
  }
  return top - 1;
}

void Pool::return_chunk(std::uint32_t index) noexcept {
  SpoolHeader& header = *header_;
  chunks_[index].header.track.store(0, std::memory_order_release);
  push_free(header.free_head, link_of(chunks_), index);
  header.free_count.fetch_add(1, std::memory_order_relaxed);
}

TrackSlot* Pool::claim_slot() noexcept {
  for (std::uint32_t i = 1; i < header_->slot_count; ++i) {
    SlotState expected = SlotState::free;
    if (slots_[i].state.load(std::memory_order_relaxed) == SlotState::free &&
        slots_[i].state.compare_exchange_strong(expected, SlotState::claimed, std::memory_order_acq_rel)) {
      return &slots_[i];
    }
  }
  return nullptr;
}

}  // namespace kymo::record
