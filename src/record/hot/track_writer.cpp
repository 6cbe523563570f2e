#include "record/hot/track_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include <kymo/argument.hpp>
#include <kymo/detail/hot_path.hpp>

#include "base/system/message.hpp"
#include "base/system/not_cancelled.hpp"
#include "base/system/unchecked.hpp"
#include "base/text/text.hpp"
#include "record/clock/clock.hpp"
#include "record/hot/fiber.hpp"
#include "record/platform/platform.hpp"
#include "record/pool/chunk_chain.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::record {
constinit detail::ThreadState nobody;
}

__attribute__((visibility("default"))) __thread kymo::detail::ThreadState* kymo_thread_v3 KYMO_STATIC_TLS =
    &kymo::record::nobody;
__attribute__((visibility("default"))) kymo::detail::Shared<std::uint32_t> kymo_scopes_on_v1{0};

namespace kymo::record {

void notice_fork() noexcept {
  if (Recorder::instance().notice_fork()) {
    forget_slots_in_child();
  }
}

namespace {

/// The slot, and so the chunk, of an abandoned write. If its writer comes back after all, its words are harmless.
/// Scopes that are open there are closed there.
__thread TrackSlot* parked_slot KYMO_STATIC_TLS = nullptr;

base::SayOnce say_left_scopes;
std::atomic<bool> may_lack_stack{false};

void begin_chunk(TrackSlot& slot, std::uint32_t index, Chunk& chunk, std::uint64_t first_sequence) noexcept {
  ChunkHeader& header = chunk.header;
  header.slot = static_cast<std::uint32_t>(&slot - &Recorder::instance().pool()->slot(0));
  header.first_sequence = first_sequence;
  header.begun_at = event_time();
  header.used_words = 0;
  header.next.store(no_chunk, std::memory_order_relaxed);
  header.track.store(slot.track.load(std::memory_order_relaxed), std::memory_order_release);
  slot.current_chunk = index;
  std::uint64_t* const scopes_end =
      chunk.words + Recorder::instance().pool()->words_of(index) - (detail::words_of_a_scope - 1);
  slot.own().scopes_end = counter_in_use() ? scopes_end : nullptr;
  slot.own().slow_scopes_end = scopes_end;
  slot.own().opens_end = nullptr;
}

void fill_slot(TrackSlot& slot, TrackRole role) noexcept {
  slot.track.store(Recorder::instance().declarations().next_track().value(), std::memory_order_relaxed);
  slot.os_thread_id = role == TrackRole::plain ? os_thread_id() : 0;
  slot.role = role;
  slot.is_unwatched.store(false, std::memory_order_relaxed);
  slot.dropped_scopes.store(0, std::memory_order_relaxed);
  slot.dropped_others.store(0, std::memory_order_relaxed);
  slot.own().key = detail::first_key(slot.track.load(std::memory_order_relaxed));
  slot.own().muted_depth = 0;
  slot.own().outer_mutes = 0;
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
  slot.marked_depth = 0;
  slot.marked_stack = 0;
  slot.first_chunk.store(0, std::memory_order_relaxed);
  slot.own().scopes_end = nullptr;
  slot.own().slow_scopes_end = nullptr;
  slot.own().opens_end = nullptr;
  slot.cursor.store(nullptr, std::memory_order_relaxed);
}

/// Whether a thread with this rate would fill a large chunk before the collector's next look.
bool records_much(const ChunkHeader& filled) noexcept {
  const auto words_a_second = static_cast<double>(chunk_words) * 10;
  const auto counts = static_cast<double>(event_time() - filled.begun_at);
  return counts * counter_step_ns() * words_a_second < static_cast<double>(filled.used_words) * 1e9;
}

/// If the log has no room, the track stays without a name and keeps its events.
void declare_track(const TrackSlot& slot) noexcept {
  static_cast<void>(Recorder::instance().declarations().declare_thread(
      TrackId{slot.track.load(std::memory_order_relaxed)}, slot.os_thread_id,
      slot.role == TrackRole::fiber ? current_fiber_name() : std::string_view(slot.name), slot.role));
}

}  // namespace

TrackSlot* attach_thread() noexcept {
  const base::NotCancelled not_cancelled;
  const base::Unchecked unchecked;
  notice_fork();
  // A forked child's recorder starts first: signals need not wait for that.
  static_cast<void>(Recorder::instance().pool_for_events());
  const SignalsHeld held;
  TrackSlot* slot = nullptr;
  if (is_in_fiber()) {
    slot = attach_fiber();
  } else {
    slot = claim_slot(TrackRole::plain);
    if (slot != nullptr) {
      set_current_slot(slot);
      watch_thread_end();
    }
  }
  return slot;
}

TrackSlot* claim_slot(TrackRole role) noexcept {
  notice_fork();
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
    set_current_slot(nullptr);
    slot->state.store(SlotState::exited, std::memory_order_release);
  }
  if (TrackSlot* const parked = std::exchange(parked_slot, nullptr)) {
    parked->state.store(SlotState::exited, std::memory_order_release);
  }
}

void forget_parked_slot() noexcept {
  parked_slot = nullptr;
}

namespace {

/// Whether an unfinished write will never be resumed because its signal handler left by siglongjmp. If no signal is
/// blocked, this is not a handler's frame (except with SA_NODEFER, which costs only an extra track). Otherwise waits
/// for a second.
bool is_left_for_good(TrackSlot& slot) noexcept {
  struct Seen {
    std::uint64_t key;
    const std::uint64_t* cursor;
    std::uint64_t since_ns;
  };
  static __thread Seen seen KYMO_STATIC_TLS = {0, nullptr, 0};
  constexpr std::uint64_t longest_handler_ns = 1'000'000'000;
  if (!blocks_signals()) {
    return true;
  }
  const std::uint64_t* const cursor = slot.cursor.load(std::memory_order_relaxed);
  const std::uint64_t now_ns = monotonic_ns();
  if (seen.key != slot.own().key || seen.cursor != cursor) {
    seen = {slot.own().key, cursor, now_ns};
  }
  return now_ns - seen.since_ns > longest_handler_ns;
}

/// Replaces a thread's slot whose write was abandoned.
TrackSlot* replace(TrackSlot& abandoned) noexcept {
  set_current_slot(nullptr);
  TrackSlot* const fresh = attach_thread();
  if (fresh == nullptr) {
    set_current_slot(&abandoned);
    return &abandoned;
  }
  TrackSlot* const ended = abandoned.role == TrackRole::plain ? std::exchange(parked_slot, &abandoned) : &abandoned;
  abandoned.is_unwatched.store(false, std::memory_order_relaxed);
  if (ended != nullptr) {
    ended->state.store(SlotState::exited, std::memory_order_release);
  }
  return fresh;
}

}  // namespace

void return_to_slot_of(std::uint32_t generation) noexcept {
  if (parked_slot == nullptr || detail::generation_of(parked_slot->own().key) != generation) {
    return;
  }
  TrackSlot* const substitute = current_slot();
  set_current_slot(std::exchange(parked_slot, nullptr));
  if (substitute != nullptr) {
    current_slot()->is_unwatched.store(substitute->is_unwatched.load(std::memory_order_relaxed),
                                       std::memory_order_relaxed);
    substitute->state.store(SlotState::exited, std::memory_order_release);
  }
}

TrackSlot* attached_slot() noexcept {
  notice_fork();
  TrackSlot* const slot = current_slot();
  return slot != nullptr ? slot : attach_thread();
}

TrackSlot* slot_for_write() noexcept {
  // Before anything is counted where a parent would see it.
  notice_fork();
  TrackSlot* const slot = current_slot();
  if (slot == nullptr) {
    return attach_thread();
  }
  return detail::is_free(slot->own().key) || !is_left_for_good(*slot) ? slot : replace(*slot);
}

SlotWrite::SlotWrite(TrackSlot& slot) noexcept : slot_(slot), key_(slot.own().key) {
  is_held_ = detail::is_free(key_);
  if (is_held_) {
    detail::make_busy(slot.own());
    detail::signal_fence();
    detail::forget_skipped_mutes(slot.own());
  }
}

SlotWrite::~SlotWrite() {
  if (is_held_) {
    detail::signal_fence();
    slot_.own().key = key_;
  }
}

bool SlotWrite::take_chunk(std::uint64_t words) noexcept {
  // Each scope that is dropped comes here: two system calls would cost more than it would have.
  if (Pool* const pool = Recorder::instance().pool(); !pool->may_have_chunk()) {
    pool->wake_collector();
    return false;
  }
  // A handler that forks would leave its child halfway into a chunk of a pool that it does not have.
  const SignalsHeld held;
  if (current_slot() != &slot_) {
    return false;
  }
  Pool& pool = *Recorder::instance().pool();
  // Threads that record little get small chunks: a pool has room for thousands of them. So do all where it is scarce:
  // more threads than it has large chunks may record much.
  const bool fits_small = words <= small_chunk_words;
  Chunk* const filled = cursor() != nullptr ? &pool.chunk(slot_.current_chunk) : nullptr;
  if (filled != nullptr) {
    filled->header.used_words = static_cast<std::uint32_t>(cursor() - filled->words);
  }
  const bool wants_small = fits_small && (filled == nullptr || pool.is_scarce() || !records_much(filled->header));
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

void SlotWrite::write_close(std::uint64_t depth) noexcept {
  std::uint64_t* const at = cursor();
  *at = detail::word_of(detail::kind_tag(detail::WordKind::close, depth), event_time());
  publish(at + 1);
}

/// Closes scopes that were left open by longjmp or by a coroutine that resumed elsewhere, before their reserves fill a
/// chunk. They cannot all be on the stack: many were opened since it was marked, and it has grown by less
/// than so many guards need. Those of coroutines and of foreign runtimes are elsewhere and look the same, so all have
/// three quarters of a chunk. The outermost scopes stay open: they may enclose the others.
void SlotWrite::shed_left_scopes() noexcept {
  if (may_lack_stack.load(std::memory_order_relaxed)) {
    return;
  }
  constexpr std::uint64_t least_depth = chunk_words / 4 * 3;
  constexpr std::uint64_t least_growth = 1024;
  constexpr std::uint64_t least_stack_each = 4;
  constexpr std::uint64_t outermost = 8;
  const std::uint64_t stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uint64_t depth = detail::depth_of(key_);
  const std::uint64_t grown = depth - slot_.marked_depth;
  const bool is_marked = slot_.marked_stack != 0 && depth >= slot_.marked_depth;
  if (is_marked && (depth < least_depth || grown < least_growth)) {
    return;
  }
  if (is_marked && stack + least_stack_each * grown > slot_.marked_stack) {
    write_close(outermost);
    key_ = (key_ & ~detail::depth_mask) | outermost;
    say_left_scopes(
        "thousands of a thread's scopes are left without their end, by longjmp or across a co_await: they are closed "
        "by force");
  }
  slot_.marked_depth = static_cast<std::uint32_t>(detail::depth_of(key_));
  slot_.marked_stack = stack;
}

std::uint64_t* SlotWrite::make_room(std::size_t words) noexcept {
  if (has_room(words)) {
    return cursor();
  }
  notice_fork();
  if (current_slot() != &slot_) {
    return nullptr;  // the slot belongs to the parent
  }
  shed_left_scopes();
  if (has_room(words)) {
    return cursor();
  }
  const std::uint64_t wanted = words + detail::depth_of(key_);
  if (wanted > chunk_words || !take_chunk(wanted)) {
    return nullptr;
  }
  return cursor();
}

void count_dropped(Dropped kind) noexcept {
  notice_fork();
  if (TrackSlot* const slot = current_slot()) {
    (kind == Dropped::scope ? slot->dropped_scopes : slot->dropped_others).fetch_add(1, std::memory_order_relaxed);
  } else {
    Recorder::instance().count_dropped_without_track(kind);
  }
}

bool write_event(EventKind kind, std::uint64_t own_bits, std::span<const std::uint64_t> words,
                 std::string_view text) noexcept {
  return write_event_at(event_time(), kind, own_bits, words, text);
}

EventWrite::EventWrite(std::uint64_t time, EventKind kind, std::uint64_t own_bits, std::size_t size) noexcept
    : size_(size) {
  TrackSlot* const slot = slot_for_write();
  if (slot == nullptr) {
    Recorder::instance().count_dropped_without_track(Dropped::other);
    return;
  }
  SlotWrite& write = write_.emplace(*slot);
  if (!write || write.make_room(2 + size) == nullptr) {
    slot->dropped_others.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  at_ = write.cursor() + 2;
  at_[-2] = detail::word_of(detail::kind_tag(detail::WordKind::event, 1 + size), time);
  at_[-1] = static_cast<std::uint64_t>(kind) | (own_bits << 8U);
}

EventWrite::~EventWrite() {
  if (at_ != nullptr) {
    write_->publish(at_ + size_);
  }
}

bool write_event_at(std::uint64_t event_time, EventKind kind, std::uint64_t own_bits,
                    std::span<const std::uint64_t> words, std::string_view text) noexcept {
  const EventWrite write(event_time, kind, own_bits, words.size() + words_for(text.size()));
  if (write.payload() == nullptr) {
    return false;
  }
  std::uint64_t* const at = std::copy(words.begin(), words.end(), write.payload());
  if (!text.empty()) {
    at[(text.size() - 1) / 8] = 0;
    std::memcpy(at, text.data(), text.size());
  }
  return true;
}

namespace {

std::string_view kept_text(const Argument& argument) noexcept {
  return argument.type == ArgumentType::string ? base::cut_text(argument.text, longest_argument_text)
                                               : std::string_view();
}

}  // namespace

std::size_t words_of(const Argument& argument) noexcept {
  return 1 + (argument.type == ArgumentType::string ? words_for(kept_text(argument).size()) : 1);
}

std::uint64_t* put_argument(std::uint64_t* at, std::uint32_t name, const Argument& argument) noexcept {
  const std::string_view text = kept_text(argument);
  const bool is_text = argument.type == ArgumentType::string;
  const bool is_cut = is_text && text.size() < argument.text.size();
  *at++ = detail::word_of(
      detail::kind_tag(detail::WordKind::argument,
                       argument_operand(static_cast<std::uint64_t>(argument.type), is_cut, text.size())),
      name);
  if (!is_text) {
    *at++ = argument.bits;
  } else if (!text.empty()) {
    const std::size_t words = words_for(text.size());
    at[words - 1] = 0;
    std::memcpy(at, text.data(), text.size());
    at += words;
  }
  return at;
}

}  // namespace kymo::record

extern "C" __attribute__((visibility("default"))) void kymo_allow_scopes_without_stack_v1() {
  kymo::record::may_lack_stack.store(true, std::memory_order_relaxed);
}
