// The recording thread's slot, and writes to it off the hot path: first events, new chunks, events of several words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <kymo/kymo.h>
#include <kymo/detail/hot_path.hpp>

#include "record/clock/clock.hpp"
#include "record/pool/event_words.hpp"
#include "record/pool/pool.hpp"

namespace kymo::record {

/// Shared by threads without a slot: always busy, and in no generation.
extern detail::ThreadState nobody;

/// The calling thread's slot; null before its first event.
[[nodiscard]] inline TrackSlot* current_slot() noexcept {
  detail::ThreadState* const state = kymo_thread_v3;
  return state != &nobody ? &TrackSlot::of(*state) : nullptr;
}

/// Null: none.
inline void set_current_slot(TrackSlot* slot) noexcept {
  kymo_thread_v3 = slot != nullptr ? &slot->own() : &nobody;
}

/// For slow paths, before they touch anything shared: in a process made without fork handlers, this thread's slots
/// belong to the parent.
void notice_fork() noexcept;

/// Gives the calling thread, or its current fiber, a slot. Null if there is none.
[[nodiscard]] TrackSlot* attach_thread() noexcept;

/// The calling thread's slot, attached if it has none. Null if there is none.
[[nodiscard]] TrackSlot* attached_slot() noexcept;

/// The calling thread's slot for a write, attached if it has none. A slot with an abandoned write is replaced. Null if
/// there is none; busy if this is a signal handler that interrupted a write.
[[nodiscard]] TrackSlot* slot_for_write() noexcept;

/// The thread closes a scope of this generation. If its slot was parked because of an abandoned write, the thread is
/// back in its old context: it gets that slot again.
void return_to_slot_of(std::uint32_t generation) noexcept;

/// In a forked child: the thread's parked slot belongs to the parent.
void forget_parked_slot() noexcept;

/// A slot of the pool for a new track. It has no chunk, so its first write asks for one. Null if there is none.
[[nodiscard]] TrackSlot* claim_slot(TrackRole role) noexcept;

/// Registers detach_thread() for the calling thread's end.
void watch_thread_end() noexcept;

/// The calling thread has ended: it leaves its fiber, and the collector frees its slot after draining it.
void detach_thread() noexcept;

/// Marks a slot busy during a write. Holds nothing if the slot is already busy: then a signal handler interrupted a
/// write of its own thread.
class SlotWrite {
 public:
  explicit SlotWrite(TrackSlot& slot) noexcept;
  SlotWrite(const SlotWrite&) = delete;
  SlotWrite& operator=(const SlotWrite&) = delete;
  ~SlotWrite();

  [[nodiscard]] explicit operator bool() const noexcept { return is_held_; }
  /// The slot's key after the write.
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  void set_key(std::uint64_t key) noexcept { key_ = key; }

  /// Room for `words` words plus the closes of all open scopes, in this chunk or a new one. Null if the pool is empty
  /// or too many scopes are open.
  [[nodiscard]] std::uint64_t* make_room(std::size_t words) noexcept;

  /// Writes the close of the scope at `depth`, for which its open reserved room.
  void write_close(std::uint64_t depth) noexcept;

  /// The next free word.
  [[nodiscard]] std::uint64_t* cursor() const noexcept { return slot_.cursor.load(std::memory_order_relaxed); }
  /// Publishes everything before `end`.
  void publish(std::uint64_t* end) noexcept { slot_.cursor.store(end, std::memory_order_release); }

 private:
  [[nodiscard]] bool take_chunk(std::uint64_t words) noexcept;
  void shed_left_scopes() noexcept;
  [[nodiscard]] bool has_room(std::size_t words) const noexcept {
    return detail::has_room(slot_.own().slow_scopes_end, cursor(), words + detail::depth_of(key_));
  }

  TrackSlot& slot_;
  std::uint64_t key_;
  bool is_held_ = false;
};

/// An argument's size in words.
[[nodiscard]] std::size_t words_of(const Argument& argument) noexcept;
/// Writes an argument's words; returns the position behind them.
std::uint64_t* put_argument(std::uint64_t* at, std::uint32_t name, const Argument& argument) noexcept;

/// Begins an event of several words on the calling thread's track, and ends it when destroyed; the caller writes the
/// payload in between.
class EventWrite {
 public:
  /// `size` is the number of payload words.
  EventWrite(std::uint64_t time, EventKind kind, std::uint64_t own_bits, std::size_t size) noexcept;
  EventWrite(const EventWrite&) = delete;
  EventWrite& operator=(const EventWrite&) = delete;
  ~EventWrite();

  /// The payload's place; null if the event was dropped, which is counted.
  [[nodiscard]] std::uint64_t* payload() const noexcept { return at_; }

 private:
  std::optional<SlotWrite> write_;
  std::uint64_t* at_ = nullptr;
  std::size_t size_;
};

/// Writes an event whose payload of `size` words `fill` writes to the given place. False if it was dropped, which is
/// counted.
template <typename Fill>
bool write_event_with(EventKind kind, std::uint64_t own_bits, std::size_t size, const Fill& fill) noexcept {
  const EventWrite write(event_time(), kind, own_bits, size);
  if (write.payload() != nullptr) {
    fill(write.payload());
  }
  return write.payload() != nullptr;
}

/// Counts an event that is not recorded, on the calling thread's track if it has one.
void count_dropped(Dropped kind) noexcept;

/// Writes an event of several words on the calling thread's track: its kind and own bits, then `words`, then the bytes
/// of `text`. False if it was dropped, which is counted.
bool write_event(EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                 std::string_view text = {}) noexcept;

/// The same for an event at `time`, shortly before, on the clock that stamps events.
bool write_event_at(std::uint64_t time, EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                    std::string_view text = {}) noexcept;

}  // namespace kymo::record
