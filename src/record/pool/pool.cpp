#include "record/pool/pool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include <unistd.h>

#include "base/system/system.hpp"

namespace kymo::record {

namespace {

/// Reserved at the start, for recording until the collector's thread has reserved more.
constexpr std::uint32_t first_chunks = 8;
constexpr std::uint32_t first_slots = 256;
constexpr std::uint32_t first_chunks_on_demand = 2;
constexpr std::uint32_t first_slots_on_demand = 48;
/// Threads reserve in small steps, the collector in large ones.
constexpr std::uint32_t chunks_a_step = 4;
constexpr std::uint32_t chunks_ahead = 32;

// The states of all slots end before the pool begins, whatever the pool's size.
static_assert(most_slots_of_all * sizeof(detail::ThreadState) + 3 * chunk_bytes / 4 + sizeof(SpoolHeader) <=
              detail::cursor_distance);
#if !defined(__EMSCRIPTEN__)
static_assert(most_slots_of_all * sizeof(detail::ThreadState) + largest_pool_bytes / chunk_bytes + 3 * chunk_bytes <=
              detail::cursor_distance);
#endif

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

Pool::Layout Pool::plan(std::uint64_t bytes, bool is_on_demand) {
  bytes = std::clamp<std::uint64_t>(bytes, smallest_pool_bytes, largest_pool_bytes);
  Layout layout{};
  layout.most_chunks = static_cast<std::uint32_t>(bytes / chunk_bytes);
  layout.most_slots = std::clamp<std::uint32_t>(layout.most_chunks * pieces_a_chunk / 2, 64, most_slots_of_all);
  layout.slots = std::min(layout.most_slots, is_on_demand ? first_slots_on_demand : first_slots);
  layout.chunks = std::min(layout.most_chunks, is_on_demand ? first_chunks_on_demand : first_chunks);
  layout.slots_offset = round_up(sizeof(SpoolHeader) + layout.most_chunks, 4096);
  layout.chunks_offset =
      round_up(layout.slots_offset + std::uint64_t{layout.most_slots} * sizeof(TrackSlot), chunk_bytes);
  layout.total_bytes = layout.chunks_offset + std::uint64_t{layout.most_chunks} * chunk_bytes;
  return layout;
}

std::uint64_t Pool::Layout::bytes_before() const {
  return round_up(detail::cursor_distance - slots_offset, chunk_bytes);
}

std::uint64_t Pool::Layout::states_bytes() const {
  const std::uint64_t offset = bytes_before() - (detail::cursor_distance - slots_offset);
  return round_up(offset + std::uint64_t{most_slots} * sizeof(detail::ThreadState), chunk_bytes);
}

void Pool::lay_out(const Layout& layout, const std::uint64_t (&id)[2]) {
  auto* const bytes = static_cast<std::byte*>(mapping_);
  header_ = new (bytes) SpoolHeader{};
  slots_ = reinterpret_cast<TrackSlot*>(bytes + layout.slots_offset);
  for (std::uint32_t i = 0; i < layout.slots; ++i) {
    new (slots_ + i) TrackSlot;
  }
  chunks_ = bytes + layout.chunks_offset;
  std::memset(bytes + sizeof(SpoolHeader), 0, layout.most_chunks);
  SpoolHeader& header = *header_;
  header.version = spool_version;
  header.most_slots = layout.most_slots;
  header.most_chunks = layout.most_chunks;
  header.slot_count.store(layout.slots, std::memory_order_relaxed);
  header.total_bytes = layout.total_bytes;
  header.splits_offset = sizeof(SpoolHeader);
  header.slots_offset = layout.slots_offset;
  header.chunks_offset = layout.chunks_offset;
  header.base_address = reinterpret_cast<std::uintptr_t>(mapping_);
  header.owner_pid = static_cast<std::uint64_t>(::getpid());
  header.owner_start = base::process_start();
  header.owner_pid_namespace = base::pid_namespace();
  const std::string boot_id = base::boot_id().substr(0, 36);
  std::memcpy(header.boot_id, boot_id.c_str(), boot_id.size() + 1);
  header.is_saved.store(1, std::memory_order_relaxed);
  slots_[0].state.store(SlotState::claimed, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < layout.chunks; ++i) {
    add_free(i);
  }
  std::memcpy(header.id, id, sizeof id);
  std::atomic_thread_fence(std::memory_order_release);
  header.magic = spool_magic;
}

/// Adds a reserved large chunk, unless another thread has. The collector wakes once an eighth of the pool is taken, or
/// 16 chunks.
void Pool::add_free(std::uint32_t index) noexcept {
  std::uint32_t expected = index;
  if (!header_->chunk_count.compare_exchange_strong(expected, index + 1, std::memory_order_acq_rel)) {
    return;
  }
  new (&chunk(index).header) ChunkHeader;
  push_free(header_->free_head, link(), index);
  header_->free_count.fetch_add(pieces_a_chunk, std::memory_order_relaxed);
  const std::uint32_t count = index + 1;
  header_->wake_threshold.store(std::clamp<std::uint32_t>(count / 8, 1, 16) * pieces_a_chunk,
                                std::memory_order_relaxed);
}

bool Pool::reserve_chunks(std::uint32_t count) noexcept {
  if (is_full_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::uint32_t have = chunk_count();
  const std::uint32_t added = std::min(count, header_->most_chunks - have);
  const bool is_reserved = added != 0 && reserve(header_->chunks_offset + std::uint64_t{have} * chunk_bytes,
                                                 std::uint64_t{added} * chunk_bytes);
  for (std::uint32_t i = 0; is_reserved && i < added; ++i) {
    add_free(have + i);
  }
  if (!is_reserved || have + added == header_->most_chunks) {
    is_full_.store(true, std::memory_order_relaxed);
  }
  return is_reserved;
}

bool Pool::reserve_slots() noexcept {
  std::uint32_t have = header_->slot_count.load(std::memory_order_relaxed);
  const std::uint32_t count = std::min(2 * have, header_->most_slots);
  if (count == have || !reserve(header_->slots_offset + std::uint64_t{have} * sizeof(TrackSlot),
                                std::uint64_t{count - have} * sizeof(TrackSlot))) {
    return false;
  }
  static_assert(static_cast<int>(SlotState::free) == 0 && static_cast<int>(TrackRole::plain) == 0);
  // Zeros are a free slot. Another thread may have added them, and even use them.
  header_->slot_count.compare_exchange_strong(have, count, std::memory_order_release, std::memory_order_relaxed);
  return true;
}

bool Pool::is_to_grow() const noexcept {
  const std::uint32_t free = header_->free_count.load(std::memory_order_relaxed);
  return !is_full_.load(std::memory_order_relaxed) && (!is_on_demand_ || free * 2 < chunk_count() * pieces_a_chunk);
}

bool Pool::reserve_ahead() noexcept {
  return is_to_grow() && reserve_chunks(chunks_ahead);
}

std::string Pool::spool_id() const {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(header_->id[0]),
                static_cast<unsigned long long>(header_->id[1]));
  return text;
}

/// Takes a small chunk's index + 1, splitting a large one if none is left; no_chunk if there is none either.
std::uint32_t Pool::take_piece() noexcept {
  const std::uint32_t top = pop_free(header_->small_free_head, link());
  if (top != no_chunk) {
    return top;
  }
  const std::uint32_t large = pop_free(header_->free_head, link());
  if (large == no_chunk) {
    return no_chunk;
  }
  const std::uint32_t first = header_->most_chunks + (large - 1) * pieces_a_chunk;
  // The first piece keeps the large chunk's header: other threads may still read its link in pop_free().
  for (std::uint32_t i = 1; i < pieces_a_chunk; ++i) {
    new (&chunk(first + i).header) ChunkHeader;
  }
  // A reader of the spool after a kill sees either one free large chunk or 32 small ones.
  auto* const marks = static_cast<std::byte*>(mapping_) + header_->splits_offset;
  __atomic_store_n(reinterpret_cast<std::uint8_t*>(marks + (large - 1)), std::uint8_t{1}, __ATOMIC_RELEASE);
  for (std::uint32_t i = pieces_a_chunk - 1; i > 0; --i) {
    push_free(header_->small_free_head, link(), first + i);
  }
  return first + 1;
}

bool Pool::may_have_chunk() const noexcept {
  return header_->free_count.load(std::memory_order_relaxed) != 0 || !is_full_.load(std::memory_order_relaxed);
}

bool Pool::is_scarce() const noexcept {
  const std::uint64_t free = header_->free_count.load(std::memory_order_relaxed);
  const std::uint64_t most = header_->most_chunks;
  const std::uint64_t not_reserved = is_full_.load(std::memory_order_relaxed) ? 0 : most - chunk_count();
  return 16 * (free + not_reserved * pieces_a_chunk) <= most * pieces_a_chunk;
}

std::optional<std::uint32_t> Pool::take_chunk(ChunkSize size) noexcept {
  SpoolHeader& header = *header_;
  const bool is_small = size == ChunkSize::small;
  const auto take = [&] { return is_small ? take_piece() : pop_free(header.free_head, link()); };
  std::uint32_t top = take();
  if (top == no_chunk) {
    // Other threads reserve too, and take what this one has reserved.
    bool may_be_more = true;
    while (top == no_chunk && may_be_more) {
      may_be_more = reserve_chunks(chunks_a_step);
      top = take();
    }
  }
  if (top == no_chunk) {
    wake_collector();
    return std::nullopt;
  }
  const std::uint32_t pieces = is_small ? 1 : pieces_a_chunk;
  header.free_count.fetch_sub(pieces, std::memory_order_relaxed);
  if (header.taken.fetch_add(pieces, std::memory_order_seq_cst) + pieces >=
      header.wake_threshold.load(std::memory_order_relaxed)) {
    wake_collector();
  }
  return top - 1;
}

void Pool::return_chunk(std::uint32_t index) noexcept {
  SpoolHeader& header = *header_;
  chunk(index).header.written_words.store(0, std::memory_order_relaxed);
  chunk(index).header.track.store(0, std::memory_order_release);
  const bool is_small = index >= header.most_chunks;
  push_free(is_small ? header.small_free_head : header.free_head, link(), index);
  header.free_count.fetch_add(is_small ? 1 : pieces_a_chunk, std::memory_order_relaxed);
}

TrackSlot* Pool::claim_slot() noexcept {
  for (;;) {
    const std::uint32_t count = slot_count();
    // Starts at the place of the last one found: threads that come and go find a slot at once.
    const std::uint32_t first = next_slot_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t at = first + i < count ? first + i : first + i - count;
      SlotState expected = SlotState::free;
      if (at != 0 && slots_[at].state.load(std::memory_order_relaxed) == SlotState::free &&
          slots_[at].state.compare_exchange_strong(expected, SlotState::claimed, std::memory_order_acq_rel)) {
        next_slot_.store(at + 1 < count ? at + 1 : 1, std::memory_order_relaxed);
        return &slots_[at];
      }
    }
    if (!reserve_slots()) {
      return nullptr;
    }
  }
}

}  // namespace kymo::record
