// The slow path of scopes and arguments: continues what the hot path gave up.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kymo/argument.hpp>
#include <kymo/detail/hot_path.hpp>

#include "base/system/message.hpp"
#include "record/clock/clock.hpp"
#include "record/hot/track_writer.hpp"
#include "record/names/site_filter.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::record {

namespace {

base::SayOnce say_closed_elsewhere;

/// Closes a recorded scope of this slot.
void close_slowly(TrackSlot& slot, std::uint64_t token) noexcept {
  if (detail::depth_of(slot.own().key) < detail::depth_of(token)) {
    return;  // closed before, together with an outer scope
  }
  // Clears the busy bit, whether the hot path gave up in between or an inner write was abandoned.
  slot.own().key &= ~detail::busy_bit;
  SlotWrite write(slot);
  write.set_key(token - 1);
  write.write_close(detail::depth_of(token - 1));
}

/// Warns once that a scope was closed on a thread that did not open it.
void note_closed_elsewhere(std::uint64_t token) noexcept {
  static std::atomic<bool> is_said{false};
  Pool* const pool = Recorder::instance().pool();
  if (pool == nullptr || is_said.load(std::memory_order_relaxed)) {
    return;
  }
  for (std::uint32_t i = 1; i < pool->slot_count(); ++i) {
    const TrackSlot& slot = pool->slot(i);
    const bool is_opener = slot.state.load(std::memory_order_acquire) == SlotState::active &&
                           slot.track.load(std::memory_order_relaxed) == detail::generation_of(token);
    if (is_opener && !is_said.exchange(true, std::memory_order_relaxed)) {
      say_closed_elsewhere(
          "a scope was closed on another thread than it was opened on (across a co_await?): it is closed by force; "
          "AsyncSpan and Fiber are for that");
    }
  }
}

/// Opens a scope as the hot path does, after a look at the room in the chunk that serves the next scopes too. 0 where
/// that needs more: an id, a chunk, another clock.
std::uint64_t open_after_look(kymo_site& site) noexcept {
  detail::ThreadState& own = *kymo_thread_v3;
  const std::uint64_t key = own.key;
  if (!detail::is_free(key) || !detail::has_id(site)) {
    return 0;
  }
  // A handler that interrupts this must not begin another chunk.
  detail::make_busy(own);
  detail::signal_fence();
  std::uint64_t* const cursor = detail::cursor_of(own).load(__ATOMIC_RELAXED);
  const std::uint64_t depth = detail::depth_of(key);
  const bool has_room = detail::has_room(own.scopes_end, cursor, depth + detail::words_of_a_scope);
  if (has_room) {
    const std::uint64_t* const end = own.scopes_end + (detail::words_of_a_scope - 1);
    const std::uint64_t unreserved = static_cast<std::uint64_t>(end - cursor) - depth;
    own.opens_end = cursor + unreserved / detail::words_of_a_scope;
  }
  detail::signal_fence();
  own.key = key;
  const auto give_up = [](kymo_site&, std::uint64_t before) {
    kymo_thread_v3->key = before;
    return detail::nothing_to_close;
  };
  const detail::ScopeToken token = has_room ? detail::open_scope(site, give_up) : detail::nothing_to_close;
  return token.word != detail::nothing_to_close.word ? token.word : 0;
}

/// Opens a scope off the hot path: the thread's first, the site's first, or one without room in the chunk. A null site
/// has no known name.
__attribute__((noinline)) std::uint64_t open_slowly(kymo_site* site) noexcept {
  TrackSlot* const slot = slot_for_write();
  if (slot == nullptr) {
    Recorder::instance().count_dropped_without_track(Dropped::scope);
    return detail::nothing_to_close.word;
  }
  std::uint64_t token = 0;
  {
    SlotWrite write(*slot);
    if (write && site != nullptr && (detail::has_id(*site) || Recorder::instance().declarations().declare(*site)) &&
        write.make_room(2) != nullptr) {
      std::uint64_t* const at = write.cursor();
      *at = detail::word_of(detail::open_tag(__atomic_load_n(&site->id, __ATOMIC_RELAXED)), event_time());
      write.publish(at + 1);
      token = write.key() + 1;
      write.set_key(token);
    }
  }
  if (token == 0) {
    slot->dropped_scopes.fetch_add(1, std::memory_order_relaxed);
    // Left out, so that its arguments do not go to its parent.
    return detail::leave_out_scope().word;
  }
  return counter_in_use() ? token : token | detail::slow_bit;
}

/// Writes one argument; `name` is its id. False if there was no room.
bool write_argument(SlotWrite& write, std::uint32_t name, const Argument& argument) noexcept {
  std::uint64_t* const at = write.make_room(words_of(argument));
  if (at != nullptr) {
    write.publish(put_argument(at, name, argument));
  }
  return at != nullptr;
}

/// Restores the key that the hot path changed before it gave up.
void put_back(std::uint64_t key) noexcept {
  if (detail::is_free(key)) {
    kymo_thread_v3->key = key;
  }
}

}  // namespace

}  // namespace kymo::record

extern "C" {

__attribute__((visibility("default"))) std::uint64_t kymo_open_slow_v3(kymo_site* site, std::uint64_t key) noexcept {
  using kymo::record::Recorder;
  kymo::record::put_back(key);
  const bool is_known = site == nullptr || kymo::detail::has_id(*site);
  if (!is_known && (kymo::detail::is_left_out(*site) || Recorder::instance().leaves_out(*site))) {
    return kymo::detail::leave_out_scope().word;
  }
  const std::uint64_t token = site != nullptr ? kymo::record::open_after_look(*site) : 0;
  return token != 0 ? token : kymo::record::open_slowly(site);
}

__attribute__((visibility("default"))) int kymo_declare_site_v1(kymo_site* site) {
  return kymo_declare_site_as_v1(site, site);
}

__attribute__((visibility("default"))) int kymo_declare_site_as_v1(kymo_site* site, kymo_site* other) {
  kymo::record::Recorder& recorder = kymo::record::Recorder::instance();
  if (kymo::detail::has_id(*site)) {
    return 1;
  }
  const bool is_wanted =
      kymo::detail::has_id(*other) || (!kymo::detail::is_left_out(*other) && !recorder.leaves_out(*other));
  return is_wanted && recorder.pool_for_events() != nullptr && recorder.declarations().declare(*site) ? 1 : 0;
}

__attribute__((visibility("default"))) void kymo_close_slow_v3(std::uint64_t token) noexcept {
  using kymo::record::close_slowly;
  using kymo::record::current_slot;
  using kymo::record::note_closed_elsewhere;
  using kymo::record::TrackSlot;
  kymo::record::notice_fork();
  token &= ~kymo::detail::slow_bit;
  const std::uint32_t generation = kymo::detail::generation_of(token);
  kymo::record::return_to_slot_of(generation);
  TrackSlot* const slot = current_slot();
  if (slot != nullptr && kymo::detail::generation_of(slot->own().key) == generation) {
    close_slowly(*slot, token);
  } else {
    // Another thread's scope, or one opened before a fork: this track cannot close it.
    note_closed_elsewhere(token);
  }
}

__attribute__((visibility("default"))) void kymo_arguments_slow_v3(std::uint32_t* names,
                                                                   const kymo::Argument* arguments, std::size_t count,
                                                                   std::uint64_t key) noexcept {
  using kymo::record::current_slot;
  using kymo::record::put_back;
  using kymo::record::Recorder;
  using kymo::record::SlotWrite;
  using kymo::record::TrackSlot;
  using kymo::record::write_argument;
  constexpr std::size_t most = 8;
  put_back(key);
  kymo::record::notice_fork();
  TrackSlot* const slot = current_slot();
  if (slot == nullptr || count > most) {
    return;
  }
  SlotWrite write(*slot);
  bool is_written = static_cast<bool>(write);
  if (is_written && __atomic_load_n(names, __ATOMIC_ACQUIRE) == 0) {
    std::string_view texts[most];
    std::transform(arguments, arguments + count, texts, [](const kymo::Argument& argument) { return argument.name; });
    is_written = Recorder::instance().declarations().declare_names(*names, {texts, count});
  }
  const std::uint32_t first_name = __atomic_load_n(names, __ATOMIC_ACQUIRE);
  std::size_t written = 0;
  while (is_written && written < count) {
    is_written = write_argument(write, first_name + static_cast<std::uint32_t>(written), arguments[written]);
    written += is_written ? 1 : 0;
  }
  slot->dropped_others.fetch_add(count - written, std::memory_order_relaxed);
}
}
