#include "record/track_writer.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <kymo/argument.hpp>
#include <kymo/detail/hot_path.hpp>

#include "base/not_cancelled.hpp"
#include "base/text.hpp"
#include "record/chunk_chain.hpp"
#include "record/clock.hpp"
#include "record/fiber.hpp"
#include "record/recorder.hpp"
#include "record/thread_facts.hpp"

__attribute__((visibility("default"))) __thread kymo::detail::ThreadState* kymo_thread_v1 KYMO_STATIC_TLS = nullptr;
__attribute__((visibility("default"))) std::atomic<std::uint32_t> kymo_scopes_on_v1{0};

namespace kymo::record {

namespace {

/// Set while the thread is being given a slot, so that a signal handler's scope does not begin the same again.
__thread bool is_attaching KYMO_STATIC_TLS = false;

/// A base that is so far away that every delta overflows.
std::uint64_t unreachable_time_base() {
  return read_counter() + (std::uint64_t{1} << 63U);
}

void begin_chunk(TrackSlot& slot, std::uint32_t index, Chunk& chunk, std::uint64_t first_sequence) noexcept {
  ChunkHeader& header = chunk.header;
  header.slot = static_cast<std::uint32_t>(&slot - &Recorder::instance().pool()->slot(0));
  header.first_sequence = first_sequence;
  header.time_base = event_time();
  header.used_words = 0;
  header.next.store(no_chunk, std::memory_order_relaxed);
  header.track.store(slot.track.load(std::memory_order_relaxed), std::memory_order_release);
  slot.current_chunk = index;
  slot.end = chunk.words + Recorder::instance().pool()->words_of(index) - spare_words;
  slot.true_time_base = header.time_base;
  slot.time_base = counter_in_use() ? header.time_base : unreachable_time_base();
}

void fill_slot(TrackSlot& slot, TrackRole role) noexcept {
  slot.track.store(Recorder::instance().declarations().next_track(), std::memory_order_relaxed);
  slot.os_thread_id = role == TrackRole::plain ? os_thread_id() : 0;
  slot.role = role;
  slot.is_unwatched = false;
  slot.dropped_scopes.store(0, std::memory_order_relaxed);
  slot.dropped_others.store(0, std::memory_order_relaxed);
  slot.reserve = 0;
  slot.name_handle = 0;
  slot.name[0] = '\0';
  if (role == TrackRole::plain) {
    char name[17] = "";
    read_thread_name(name);
    std::copy(std::begin(name), std::end(name), slot.name);
  } else {
    const std::string_view kept = base::cut_text(current_fiber_name(), sizeof slot.name - 1);
    slot.name[kept.copy(slot.name, kept.size())] = '\0';
  }
  slot.dropped_at = detail::nothing_dropped;
  slot.first_chunk.store(0, std::memory_order_relaxed);
  slot.end = nullptr;
  slot.cursor.store(nullptr, std::memory_order_relaxed);
}

/// Whether a thread that filled a chunk so fast would fill a large one before the collector looks again.
bool records_much(const ChunkHeader& filled) noexcept {
  const auto words_a_second = static_cast<double>(chunk_words) * 10;
  const auto counts = static_cast<double>(event_time() - filled.time_base);
  return counts * counter_step_ns() * words_a_second < static_cast<double>(filled.used_words) * 1e9;
}

/// Where the log has no room the track stays without a name; its events are kept.
void declare_track(const TrackSlot& slot) noexcept {
  static_cast<void>(Recorder::instance().declarations().declare_thread(
      slot.track.load(std::memory_order_relaxed), slot.os_thread_id,
      slot.role == TrackRole::fiber ? current_fiber_name() : std::string_view(slot.name), slot.role));
}

}  // namespace

TrackSlot* attach_thread() noexcept {
  if (is_attaching) {
    return nullptr;
  }
  is_attaching = true;
  const base::NotCancelled not_cancelled;
  detail::signal_fence();
  TrackSlot* slot = nullptr;
  if (is_in_fiber()) {
    slot = attach_fiber();
  } else {
    slot = claim_slot(TrackRole::plain);
    if (slot != nullptr) {
      Recorder::instance().watch_thread_end();
      kymo_thread_v1 = slot;
    }
  }
  detail::signal_fence();
  is_attaching = false;
  return slot;
}

TrackSlot* claim_slot(TrackRole role) noexcept {
  Pool* const pool = Recorder::instance().pool_for_events();
  TrackSlot* const slot = pool != nullptr ? pool->claim_slot() : nullptr;
  if (slot != nullptr) {
    fill_slot(*slot, role);
    slot->state.store(SlotState::active, std::memory_order_release);
  }
  return slot;
}

void detach_thread() noexcept {
  leave_fiber_at_thread_end();
  if (TrackSlot* const slot = current_slot()) {
    kymo_thread_v1 = nullptr;
    slot->state.store(SlotState::exited, std::memory_order_release);
  }
}

kymo_scope leave_out_scope() noexcept {
  TrackSlot* const slot = current_slot();
  // Where no scope is open, or the innermost takes no arguments already, there is nothing to undo at its end.
  if (slot == nullptr || slot->reserve == 0 || slot->reserve == slot->dropped_at ||
      slot->reserve >= detail::busy_reserve) {
    return {};
  }
  const kymo_scope left_out{reinterpret_cast<std::uintptr_t>(slot) | detail::dropped_bit, slot->dropped_at};
  slot->dropped_at = slot->reserve;
  return left_out;
}

SlotWrite::SlotWrite(TrackSlot& slot) noexcept : slot_(slot), reserve_(slot.reserve) {
  is_held_ = reserve_ < detail::busy_reserve;
  if (is_held_) {
    slot.reserve = detail::busy_reserve;
    detail::signal_fence();
  }
}

SlotWrite::~SlotWrite() {
  if (is_held_) {
    detail::signal_fence();
    slot_.reserve = reserve_;
  }
}

bool SlotWrite::take_chunk(std::uint64_t words) noexcept {
  Pool& pool = *Recorder::instance().pool();
  // Threads that record little hold little: a pool has room for thousands of them.
  const bool fits_small = words <= small_chunk_words - spare_words;
  Chunk* const filled = cursor() != nullptr ? &pool.chunk(slot_.current_chunk) : nullptr;
  if (filled != nullptr) {
    filled->header.used_words = static_cast<std::uint32_t>(cursor() - filled->words);
  }
  const bool wants_small = fits_small && (filled == nullptr || !records_much(filled->header));
  std::optional<std::uint32_t> taken = pool.take_chunk(wants_small ? ChunkSize::small : ChunkSize::large);
  if (!taken && fits_small && !wants_small) {
    taken = pool.take_chunk(ChunkSize::small);
  }
  if (!taken) {
    return false;
  }
  Chunk& fresh = pool.chunk(*taken);
  if (filled == nullptr) {
    begin_chunk(slot_, *taken, fresh, 0);
    continue_in(slot_, static_cast<Chunk*>(nullptr), fresh, *taken);
    declare_track(slot_);
    return true;
  }
  begin_chunk(slot_, *taken, fresh, filled->header.first_sequence + filled->header.used_words);
  continue_in(slot_, filled, fresh, *taken);
  return true;
}

std::uint64_t* SlotWrite::make_room(std::size_t words) noexcept {
  const std::uint64_t wanted = words + reserve_;
  if (detail::has_room(slot_, cursor(), wanted)) {
    return cursor();
  }
  if (wanted > chunk_words - spare_words || !take_chunk(wanted)) {
    return nullptr;
  }
  return cursor();
}

std::uint64_t SlotWrite::time_field(std::size_t words) noexcept {
  return time_field(event_time(), words);
}

std::uint64_t SlotWrite::time_field(std::uint64_t time, std::size_t words) noexcept {
  constexpr std::uint64_t largest = (std::uint64_t{1} << detail::time_bits) - 1;
  std::uint64_t delta = time - slot_.true_time_base;
  if (delta > largest) {
    std::uint64_t* const at = cursor();
    if (detail::has_room(slot_, at, words + reserve_)) {
      at[0] = detail::kind_tag(detail::WordKind::time_base, 0);
      at[1] = time;
      publish(at + 2);
      slot_.true_time_base = time;
      slot_.time_base = counter_in_use() ? time : unreachable_time_base();
      delta = 0;
    } else {
      // The chunk used its spare words before. It has been full for longer than a time field can tell, or has begun
      // after the event.
      delta = static_cast<std::int64_t>(delta) < 0 ? 0 : largest;
    }
  }
  return delta << detail::time_shift;
}

bool write_event(EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                 std::string_view text) noexcept {
  return write_event_at(event_time(), kind, own_bits, words, text);
}

bool write_event_at(std::uint64_t event_time, EventKind kind, std::uint64_t own_bits,
                    std::span<const std::uint64_t> words, std::string_view text) noexcept {
  TrackSlot* const slot = current_slot() != nullptr ? current_slot() : attach_thread();
  if (slot == nullptr) {
    Recorder::instance().count_dropped_without_track();
    return false;
  }
  SlotWrite write(*slot);
  const std::size_t payload = 1 + words.size() + (text.size() + 7) / 8;
  if (!write || write.make_room(1 + payload) == nullptr) {
    slot->dropped_others.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t time = write.time_field(event_time, 1 + payload);
  std::uint64_t* at = write.cursor();
  *at++ = time | detail::kind_tag(detail::WordKind::event, payload);
  *at++ = static_cast<std::uint64_t>(kind) | (own_bits << 8U);
  at = std::copy(words.begin(), words.end(), at);
  if (!text.empty()) {
    at[(text.size() - 1) / 8] = 0;
    std::memcpy(at, text.data(), text.size());
    at += (text.size() + 7) / 8;
  }
  write.publish(at);
  return true;
}

}  // namespace kymo::record

namespace {

using kymo::record::current_slot;
using kymo::record::is_left_out;
using kymo::record::leave_out_scope;
using kymo::record::Recorder;
using kymo::record::SlotWrite;
using kymo::record::TrackSlot;

/// Notes that a scope was dropped while it is open, so that its arguments do not go to its parent.
kymo_scope drop_scope(TrackSlot& slot, std::uint64_t reserve) noexcept {
  slot.dropped_scopes.fetch_add(1, std::memory_order_relaxed);
  const kymo_scope dropped{reinterpret_cast<std::uintptr_t>(&slot) | kymo::detail::dropped_bit, slot.dropped_at};
  slot.dropped_at = reserve;
  return dropped;
}

/// A scope that is to be recorded: the thread's first, the site's first, or one that finds no room in the chunk.
__attribute__((noinline)) kymo_scope open_scope_slow(kymo_site& site) noexcept {
  TrackSlot* const slot = current_slot() != nullptr ? current_slot() : kymo::record::attach_thread();
  if (slot == nullptr) {
    Recorder::instance().count_dropped_without_track();
    return {};
  }
  SlotWrite write(*slot);
  if (!write) {
    slot->dropped_scopes.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const bool is_declared =
      __atomic_load_n(&site.id, __ATOMIC_ACQUIRE) != 0 || Recorder::instance().declarations().declare(site);
  const std::uint64_t reserve = write.reserve();
  if (!is_declared || write.make_room(2) == nullptr) {
    return drop_scope(*slot, reserve);
  }
  const std::uint64_t time = write.time_field(2);
  std::uint64_t* const at = write.cursor();
  *at = time | kymo::detail::open_tag(__atomic_load_n(&site.id, __ATOMIC_RELAXED));
  write.publish(at + 1);
  write.set_reserve(reserve + 1);
  return {reinterpret_cast<std::uintptr_t>(slot), reserve};
}

/// Writes one argument; `name` is its id. False when there was no room.
bool write_argument(SlotWrite& write, std::uint32_t name, const kymo::Argument& argument) noexcept {
  using kymo::record::argument_operand;
  const bool is_text = argument.type == kymo::ArgumentType::string;
  const std::string_view text =
      is_text ? kymo::base::cut_text(argument.text, kymo::record::longest_argument_text) : std::string_view();
  const std::size_t words = 1 + (is_text ? (text.size() + 7) / 8 : 1);
  std::uint64_t* const at = write.make_room(words);
  if (at == nullptr) {
    return false;
  }
  const bool is_cut = text.size() < argument.text.size() && is_text;
  at[0] = (std::uint64_t{name} << kymo::detail::time_shift) |
          kymo::detail::kind_tag(kymo::detail::WordKind::argument,
                                 argument_operand(static_cast<std::uint64_t>(argument.type), is_cut, text.size()));
  if (!is_text) {
    at[1] = argument.bits;
  } else if (!text.empty()) {
    at[words - 1] = 0;
    std::memcpy(at + 1, text.data(), text.size());
  }
  write.publish(at + words);
  return true;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) kymo_scope kymo_open_slow_v1(kymo_site* site) {
  // First, as this is every time's way for a site that is left out.
  if (is_left_out(*site)) {
    return leave_out_scope();
  }
  const bool is_new = __atomic_load_n(&site->id, __ATOMIC_RELAXED) == 0;
  return is_new && Recorder::instance().leaves_out(*site) ? leave_out_scope() : open_scope_slow(*site);
}

__attribute__((visibility("default"))) int kymo_declare_site_v1(kymo_site* site) {
  Recorder& recorder = Recorder::instance();
  if (__atomic_load_n(&site->id, __ATOMIC_ACQUIRE) != 0) {
    return 1;
  }
  const bool is_wanted = !is_left_out(*site) && !recorder.leaves_out(*site);
  return is_wanted && recorder.pool_for_events() != nullptr && recorder.declarations().declare(*site) ? 1 : 0;
}

__attribute__((visibility("default"))) void kymo_close_slow_v1(std::uintptr_t state, std::uint64_t saved) {
  TrackSlot* const slot = current_slot();
  const auto current = reinterpret_cast<std::uintptr_t>(slot);
  if (slot == nullptr || (state & ~kymo::detail::dropped_bit) != current) {
    // Another thread's scope, or one that was opened before fork: it is not this track's to close.
    return;
  }
  if (state != current) {
    slot->dropped_at = saved;
    return;
  }
  SlotWrite write(*slot);
  if (!write) {
    return;
  }
  write.set_reserve(saved);
  const std::uint64_t time = write.time_field(1);
  std::uint64_t* const at = write.cursor();
  *at = time | kymo::detail::kind_tag(kymo::detail::WordKind::close, saved);
  write.publish(at + 1);
}

__attribute__((visibility("default"))) void kymo_arguments_slow_v1(std::uint32_t* names,
                                                                   const kymo::Argument* arguments, std::size_t count) {
  constexpr std::size_t most = 8;
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
