// Events of kymo::Lockable: waits with the lock's holder, and holds with their duration.
//
// A wait is a scope on the waiter's track. Its site consists of the lock and the holder, so that every summary of
// scopes also sums waits by holder. A hold is a span on the lock's own track, because locks need not be released in the
// order of the surrounding scopes.
#include <kymo/lockable.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/text/text.hpp"
#include "record/clock/clock.hpp"
#include "record/hot/fiber.hpp"
#include "record/hot/track_writer.hpp"
#include "record/pool/event_words.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::record {

namespace {

constexpr std::size_t longest_lock_name = 80;
constexpr std::size_t longest_holder = 96;
constexpr std::string_view wait_prefix = "wait for ";

/// Limit of distinct pairs of lock and holder; waits for further holders are recorded without a holder.
constexpr std::uint32_t most_wait_sites = 4096;
std::atomic<std::uint32_t> wait_sites{0};

/// Builds a name on the stack; cuts it if it is too long.
class NameText {
 public:
  NameText& put(std::string_view text, std::size_t longest = InternTable::longest_text) noexcept {
    const std::string_view kept = base::cut_text(text, std::min(longest, text_.size() - size_));
    size_ += kept.copy(text_.data() + size_, kept.size());
    return *this;
  }
  NameText& put(std::uint32_t number) noexcept {
    const auto end = std::to_chars(text_.data() + size_, text_.data() + text_.size(), number);
    size_ = static_cast<std::size_t>(end.ptr - text_.data());
    return *this;
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, InternTable::longest_text> text_;
  std::size_t size_ = 0;
};

std::string_view text_of(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

std::string_view file_name(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

/// Whether a path is one of the C++ library's own headers: a std::lock_guard has called.
bool is_of_library(std::string_view path) noexcept {
  return path.find("/c++/") != std::string_view::npos;
}

/// The name of the calling thread or fiber, for threads that wait for it.
std::uint32_t name_of_caller(TrackSlot& slot) noexcept {
  if (slot.name_handle == 0) {
    InternTable& names = Recorder::instance().names();
    const std::string_view name = is_in_fiber() ? current_fiber_name() : std::string_view(slot.name);
    InternedName* const entry = names.find_or_insert(NameSpace::text, name.empty() ? "(unnamed)" : name);
    slot.name_handle = entry != nullptr ? names.handle_of(*entry) : 0;
  }
  return slot.name_handle;
}

/// The place that took the lock; 0 if it is unknown.
std::uint32_t place_of(detail::LockState& lock, const char* file, const char* function, std::uint32_t line) noexcept {
  if (file != lock.place_file || line != lock.place_line) {
    lock.place_file = file;
    lock.place_line = line;
    lock.place = 0;
    const std::string_view path = text_of(file);
    if (!path.empty() && !is_of_library(path)) {
      NameText text;
      text.put(text_of(function), longest_holder / 2).put(" (").put(file_name(path), longest_holder / 2 - 16);
      text.put(":").put(line).put(")");
      InternTable& names = Recorder::instance().names();
      InternedName* const entry = names.find_or_insert(NameSpace::text, text.text());
      lock.place = entry != nullptr ? names.handle_of(*entry) : 0;
    }
  }
  return lock.place;
}

/// The lock's track, by its name and place. Null if that is impossible at the moment.
InternedName* lane_of(detail::LockState& lock) noexcept {
  auto* lane = static_cast<InternedName*>(lock.lane.load(std::memory_order_acquire));
  if (lane == nullptr) {
    NameText key;
    key.put(text_of(lock.name), longest_lock_name).put({"\0", 1}).put(file_name(text_of(lock.file)), longest_lock_name);
    key.put(":").put(lock.line);
    const kymo_site place{0, 0, "", "", lock.file, lock.line, 0};
    lane = Recorder::instance().names().find_or_insert(NameSpace::lock, key.text(), &place);
    lock.lane.store(lane, std::memory_order_release);
  }
  return lane;
}

std::uint32_t id_of(InternedName& name) noexcept {
  const std::uint32_t known = name.id.load(std::memory_order_acquire);
  return known != 0 ? known : Recorder::instance().declarations().declare(name);
}

/// The name of a lock's holds, kept in its track's site. 0 if that is impossible at the moment.
std::uint32_t hold_name(InternedName& lane) noexcept {
  const std::uint32_t known = __atomic_load_n(&lane.site.id, __ATOMIC_RELAXED);
  if (known != 0) {
    return known;
  }
  NameText text;
  text.put("hold ").put(text_of(lane.site.name));
  const std::uint32_t id = Recorder::instance().id_of(NameSpace::text, text.text());
  __atomic_store_n(&lane.site.id, id, __ATOMIC_RELAXED);
  return id;
}

/// The site of waits for a lock held by `holder`.
kymo_site* wait_site(detail::LockState& lock, std::string_view holder) noexcept {
  NameText key;
  key.put(wait_prefix).put(text_of(lock.name), longest_lock_name).put({"\0", 1});
  key.put(file_name(text_of(lock.file)), longest_lock_name / 2).put(":").put(lock.line).put("\n");
  key.put(holder, longest_holder);
  InternTable& names = Recorder::instance().names();
  InternedName* entry = names.find(NameSpace::lock, key.text());
  if (entry == nullptr) {
    if (!holder.empty() && wait_sites.load(std::memory_order_relaxed) >= most_wait_sites) {
      return wait_site(lock, {});
    }
    wait_sites.fetch_add(1, std::memory_order_relaxed);
    // The holder's name is interned and ends in a zero byte.
    const kymo_site place{0, 0, "", holder.empty() ? "" : holder.data(), lock.file, lock.line, KYMO_SITE_WAIT};
    entry = names.find_or_insert(NameSpace::lock, key.text(), &place);
  }
  return entry != nullptr ? &entry->site : nullptr;
}

constexpr unsigned shared_shift = 48;
constexpr std::uint64_t shared_time = (std::uint64_t{1} << shared_shift) - 1;

/// Fast path of write_event_at, if the chunk has room. False otherwise.
bool write_hold(TrackSlot& slot, std::uint64_t end, std::uint32_t track,
                const std::array<std::uint64_t, 2>& words) noexcept {
  detail::ThreadState& own = slot.own();
  const std::uint64_t key = own.key;
  if (!detail::is_free(key)) {
    return false;
  }
  detail::make_busy(own);
  detail::signal_fence();
  std::uint64_t* const cursor = slot.cursor.load(std::memory_order_relaxed);
  const bool is_plain = detail::has_room(own.scopes_end, cursor, detail::depth_of(key) + 2 + words.size());
  if (is_plain) {
    cursor[0] = detail::word_of(detail::kind_tag(detail::WordKind::event, 1 + words.size()), end);
    cursor[1] = static_cast<std::uint64_t>(EventKind::hold) | (std::uint64_t{track} << 8U);
    cursor[2] = words[0];
    cursor[3] = words[1];
    slot.cursor.store(cursor + 4, std::memory_order_release);
  }
  detail::signal_fence();
  own.key = key;
  return is_plain;
}

/// The name behind LockState::holder; null for nobody.
InternedName* holder_of(std::uint64_t handle) noexcept {
  return handle != 0 ? Recorder::instance().names().at(static_cast<std::uint32_t>(handle)) : nullptr;
}

}  // namespace

extern "C" {

KYMO_API kymo_scope kymo_lock_wait_v2(detail::LockState* lock) {
  notice_fork();
  const InternedName* const holder = holder_of(lock->holder.load(std::memory_order_acquire));
  kymo_site* const site = wait_site(*lock, holder != nullptr ? holder->text() : std::string_view());
  if (!detail::scopes_on()) {
    return {0};
  }
  const detail::ScopeToken token = site != nullptr ? detail::open_scope(*site) : detail::drop_scope();
  return {token.word};
}

KYMO_API void kymo_lock_taken_v1(detail::LockState* lock, const char* file, const char* function, std::uint32_t line) {
  if (lock->start != 0) {
    ++lock->depth;
    return;
  }
  TrackSlot* const slot = attached_slot();
  const std::uint32_t thread = slot != nullptr ? name_of_caller(*slot) : 0;
  const std::uint32_t place = place_of(*lock, file, function, line);
  lock->holder.store(place != 0 ? place : thread, std::memory_order_release);
  lock->depth = 0;
  lock->start = event_time();
}

KYMO_API detail::LockHold kymo_lock_release_v1(detail::LockState* lock) {
  const detail::LockHold hold{lock->start, event_time(), lock->holder.load(std::memory_order_relaxed), lane_of(*lock)};
  lock->start = 0;
  lock->holder.store(0, std::memory_order_relaxed);
  return hold;
}

KYMO_API void kymo_lock_shared_v1(detail::LockState* lock) {
  TrackSlot* const slot = attached_slot();
  const std::uint32_t thread = slot != nullptr ? name_of_caller(*slot) : 0;
  lock->holder.store(thread, std::memory_order_release);
  const std::uint64_t time = event_time() & shared_time;
  std::uint64_t shared = lock->shared.load(std::memory_order_relaxed);
  std::uint64_t wanted = 0;
  do {
    wanted = (shared >> shared_shift) == 0 ? time | (std::uint64_t{1} << shared_shift)
                                           : shared + (std::uint64_t{1} << shared_shift);
  } while (!lock->shared.compare_exchange_weak(shared, wanted, std::memory_order_acq_rel, std::memory_order_relaxed));
}

KYMO_API detail::LockHold kymo_lock_release_shared_v1(detail::LockState* lock) {
  const std::uint64_t end = event_time();
  const std::uint64_t holder = lock->holder.load(std::memory_order_relaxed);
  InternedName* const lane = lane_of(*lock);
  std::uint64_t shared = lock->shared.load(std::memory_order_relaxed);
  std::uint64_t wanted = 0;
  do {
    if ((shared >> shared_shift) == 0) {
      return {0, 0, 0, nullptr};  // it was shared before scopes were recorded
    }
    wanted = (shared >> shared_shift) == 1 ? 0 : shared - (std::uint64_t{1} << shared_shift);
  } while (!lock->shared.compare_exchange_weak(shared, wanted, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (wanted != 0) {
    return {0, 0, 0, nullptr};
  }
  return {end - ((end - shared) & shared_time), end, holder, lane};
}

KYMO_API void kymo_lock_held_v1(const detail::LockHold* hold) {
  if (hold->start == 0 || !Recorder::instance().is_on()) {
    return;
  }
  auto* const lane = static_cast<InternedName*>(hold->lane);
  InternedName* const holder = holder_of(hold->holder);
  const std::uint32_t track = lane != nullptr ? id_of(*lane) : 0;
  const std::uint32_t name = lane != nullptr ? hold_name(*lane) : 0;
  const std::uint32_t by = holder != nullptr ? id_of(*holder) : 0;
  if (track == 0 || name == 0) {
    count_dropped(Dropped::other);
    return;
  }
  const std::array<std::uint64_t, 2> words{name | (std::uint64_t{by} << 32U), hold->start};
  TrackSlot* const slot = current_slot();
  if (slot == nullptr || !write_hold(*slot, hold->end, track, words)) {
    static_cast<void>(write_event_at(hold->end, EventKind::hold, track, words));
  }
}
}

}  // namespace kymo::record
