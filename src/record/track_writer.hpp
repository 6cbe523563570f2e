// The recording thread's side, off the hot path: taking chunks, first events, events of several words, what goes wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <kymo/kymo.h>

#include "record/event_words.hpp"
#include "record/pool.hpp"

namespace kymo::record {

/// The calling thread's slot; null before its first event.
[[nodiscard]] inline TrackSlot* current_slot() noexcept {
  return static_cast<TrackSlot*>(kymo_thread_v1);
}

/// Gives the calling thread, or the fiber that it is in, a slot. Null where there is none, or in a signal handler that
/// interrupted this.
[[nodiscard]] TrackSlot* attach_thread() noexcept;

/// A slot of the pool for a new track, which has no chunk: every write finds no room and asks for one. Null where there
/// is none.
[[nodiscard]] TrackSlot* claim_slot(TrackRole role) noexcept;

/// The calling thread has ended: it leaves its fiber, and the collector frees its slot once it is drained.
void detach_thread() noexcept;

/// Opens a scope that leaves no trace: no word, no drop. Arguments recorded inside it are not its parent's.
[[nodiscard]] kymo_scope leave_out_scope() noexcept;

/// Marks a slot busy for the length of a write. Holds nothing when the slot is busy already, which means that a signal
/// handler interrupted a write of its own thread.
class SlotWrite {
 public:
  explicit SlotWrite(TrackSlot& slot) noexcept;
  SlotWrite(const SlotWrite&) = delete;
  SlotWrite& operator=(const SlotWrite&) = delete;
  ~SlotWrite();

  [[nodiscard]] explicit operator bool() const noexcept { return is_held_; }
  [[nodiscard]] std::uint64_t reserve() const noexcept { return reserve_; }
  void set_reserve(std::uint64_t reserve) noexcept { reserve_ = reserve; }

  /// Room for `words` words besides the reserve, in this chunk or a new one. Null when the pool is empty.
  [[nodiscard]] std::uint64_t* make_room(std::size_t words) noexcept;

  /// The time field of a word written now. Moves the time base where the chunk's is too long ago; `words` more words
  /// are about to be written at the cursor.
  [[nodiscard]] std::uint64_t time_field(std::size_t words) noexcept;
  /// The same for a time that was read before.
  [[nodiscard]] std::uint64_t time_field(std::uint64_t time, std::size_t words) noexcept;

  /// The next free word.
  [[nodiscard]] std::uint64_t* cursor() const noexcept { return slot_.cursor.load(std::memory_order_relaxed); }
  /// Publishes everything before `end`.
  void publish(std::uint64_t* end) noexcept { slot_.cursor.store(end, std::memory_order_release); }

 private:
  [[nodiscard]] bool take_chunk(std::uint64_t words) noexcept;

  TrackSlot& slot_;
  std::uint64_t reserve_ = 0;
  bool is_held_ = false;
};

/// Writes an event of several words on the calling thread's track: its kind and own bits, then `words`, then the bytes
/// of `text`. False when it was dropped, which is counted.
bool write_event(EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                 std::string_view text = {}) noexcept;

/// The same for what happened at `time`, a moment ago by the clock that stamps events.
bool write_event_at(std::uint64_t time, EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                    std::string_view text = {}) noexcept;

}  // namespace kymo::record
