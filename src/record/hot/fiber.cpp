#include "record/hot/fiber.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include <pthread.h>

#include <kymo/kymo.h>
#include <kymo/detail/hot_path.hpp>

#include "base/system/fork_handlers.hpp"
#include "base/system/message.hpp"
#include "base/text/text.hpp"
#include "record/hot/track_writer.hpp"
#include "record/recorder/recorder.hpp"

/// The object behind a program's handle. Freed when both its owner and the thread inside it have released it.
struct kymo_fiber {
  static constexpr std::size_t longest_name = 256;
  static constexpr std::uint64_t is_entered = 1;
  static constexpr std::uint64_t is_ownerless = 2;
  static constexpr unsigned generation_shift = 2;

  /// Generation << 2 | is_ownerless | is_entered. The thread that sets is_entered owns `slot` and `site` until it
  /// clears it.
  std::atomic<std::uint64_t> state{0};
  kymo::record::TrackSlot* slot = nullptr;  ///< valid in the state's generation
  kymo_site* site = nullptr;                ///< of its runs on threads; null until the first recorded run
  std::size_t name_size = 0;
  char name[longest_name] = {};
};

namespace kymo::record {

namespace {

/// Counts the forks that led to this process: fibers entered in a parent are not entered here.
std::atomic<std::uint64_t> generation{0};

/// Limit of fiber names with a site of their own, as names stay interned for the life of the process.
constexpr std::uint32_t most_named_sites = 4096;
std::atomic<std::uint32_t> named_sites{0};
kymo_site unnamed_site{0, 0, "fiber", "", "", 0, KYMO_SITE_FIBER};

base::SayOnce say_entered_elsewhere;
base::SayOnce say_entered_twice;
base::SayOnce say_left_nothing;
base::SayOnce say_thread_ended;
base::SayOnce say_no_fiber_memory;

/// The calling thread's current fiber and own slot.
struct Whereabouts {
  kymo_fiber* fiber;  ///< null: in none
  TrackSlot* home;    ///< the thread's own slot, while it is in a fiber or shut out of one
  kymo_scope run;     ///< the scope on the thread's own track
  bool is_shut_out;   ///< it could not enter: its events are dropped
};

__thread Whereabouts here KYMO_STATIC_TLS = {nullptr, nullptr, {0}, false};

std::uint64_t this_generation() noexcept {
  return generation.load(std::memory_order_relaxed) << kymo_fiber::generation_shift;
}

std::uint64_t generation_of(std::uint64_t state) noexcept {
  return state & ~(kymo_fiber::is_entered | kymo_fiber::is_ownerless);
}

/// Called when neither an owner nor a thread has it.
void end_fiber(kymo_fiber* fiber, std::uint64_t state) noexcept {
  const std::unique_ptr<kymo_fiber> owner(fiber);
  if (fiber->slot != nullptr && generation_of(state) == this_generation()) {
    fiber->slot->state.store(SlotState::exited, std::memory_order_release);
  }
}

kymo_site* site_of(kymo_fiber& fiber) noexcept {
  if (fiber.site == nullptr) {
    const std::string_view text(fiber.name, fiber.name_size);
    InternTable& names = Recorder::instance().names();
    InternedName* name = names.find(NameSpace::fiber_site, text);
    if (name == nullptr && named_sites.load(std::memory_order_relaxed) < most_named_sites) {
      named_sites.fetch_add(1, std::memory_order_relaxed);
      const kymo_site place{0, 0, "", "", "", 0, KYMO_SITE_FIBER};
      name = names.find_or_insert(NameSpace::fiber_site, text, &place);
    }
    fiber.site = name != nullptr ? &name->site : &unnamed_site;
  }
  return fiber.site;
}

/// Sets is_entered. False if another thread is in it.
bool take(kymo_fiber& fiber) noexcept {
  std::uint64_t state = fiber.state.load(std::memory_order_relaxed);
  for (;;) {
    const bool is_of_parent = generation_of(state) != this_generation();
    if ((state & kymo_fiber::is_entered) != 0 && !is_of_parent) {
      return false;
    }
    const std::uint64_t wanted = this_generation() | (state & kymo_fiber::is_ownerless) | kymo_fiber::is_entered;
    // Acquires the writes of the thread that left it last.
    if (fiber.state.compare_exchange_weak(state, wanted, std::memory_order_acquire, std::memory_order_relaxed)) {
      if (is_of_parent) {
        fiber.slot = nullptr;
      }
      return true;
    }
  }
}

void leave() noexcept {
  kymo_fiber* const fiber = here.fiber;
  set_current_slot(here.home);
  const kymo_scope run = here.run;
  here = {};
  if (run.token != 0) {
    detail::close_scope({run.token});
  }
  if (fiber != nullptr) {
    const std::uint64_t state = fiber->state.fetch_and(~kymo_fiber::is_entered, std::memory_order_acq_rel);
    if ((state & kymo_fiber::is_ownerless) != 0) {
      end_fiber(fiber, state);
    }
  }
}

}  // namespace

bool is_in_fiber() noexcept {
  return here.fiber != nullptr || here.is_shut_out;
}

std::string_view current_fiber_name() noexcept {
  return here.fiber != nullptr ? std::string_view(here.fiber->name, here.fiber->name_size) : std::string_view();
}

TrackSlot* attach_fiber() noexcept {
  if (here.fiber == nullptr) {
    return nullptr;
  }
  TrackSlot* const slot = claim_slot(TrackRole::fiber);
  here.fiber->slot = slot;
  set_current_slot(slot);
  return slot;
}

TrackSlot* thread_slot() noexcept {
  return is_in_fiber() ? here.home : current_slot();
}

void leave_fiber_at_thread_end() noexcept {
  if (is_in_fiber()) {
    say_thread_ended("a thread ended in a fiber: it has left it");
    leave();
  }
}

void forget_slots_in_child() noexcept {
  set_current_slot(nullptr);
  forget_parked_slot();
  generation.fetch_add(1, std::memory_order_relaxed);
  here.home = nullptr;
  here.run = {0};
  if (kymo_fiber* const fiber = here.fiber) {
    fiber->slot = nullptr;
    const std::uint64_t state = fiber->state.load(std::memory_order_relaxed);
    fiber->state.store(this_generation() | (state & kymo_fiber::is_ownerless) | kymo_fiber::is_entered,
                       std::memory_order_relaxed);
  }
}

namespace {

/// Before any thread exists: a fork in progress while handlers are registered runs only half of them.
__attribute__((constructor(101))) void watch_forks() {
  base::add_fork_handlers([] { Recorder::instance().before_fork(); },
                          [] { Recorder::instance().after_fork_in_parent(); },
                          [] {
                            Recorder::instance().after_fork_in_child();
                            forget_slots_in_child();
                          });
}

bool enter(kymo_fiber* fiber) noexcept {
  if (is_in_fiber()) {
    say_entered_twice("a thread entered a fiber while it was in one: it has left that first");
    leave();
  }
  const bool is_taken = fiber != nullptr && take(*fiber);
  if (!is_taken && fiber != nullptr) {
    say_entered_elsewhere("a fiber was entered while another thread was in it: what is recorded there is dropped");
  }
  if (is_taken && kymo::detail::scopes_on()) {
    const kymo::detail::ScopeToken run = kymo::detail::open_scope(*site_of(*fiber));
    here.run = {run.word};
  }
  here.home = current_slot();
  here.fiber = is_taken ? fiber : nullptr;
  here.is_shut_out = !is_taken;
  set_current_slot(is_taken ? fiber->slot : nullptr);
  if (here.home == nullptr) {
    watch_thread_end();
  }
  return is_taken;
}

}  // namespace

}  // namespace kymo::record

extern "C" {

kymo_fiber* kymo_fiber_create(const char* name, size_t name_size) {
  std::unique_ptr<kymo_fiber> fiber(new (std::nothrow) kymo_fiber);
  if (fiber == nullptr) {
    kymo::record::say_no_fiber_memory("no memory for a fiber: what it records is dropped");
    return nullptr;
  }
  const std::string_view text = name != nullptr ? std::string_view(name, name_size) : std::string_view();
  fiber->name_size = text.copy(fiber->name, kymo::base::cut_text(text, kymo_fiber::longest_name).size());
  fiber->state.store(kymo::record::this_generation(), std::memory_order_relaxed);
  return fiber.release();
}

void kymo_fiber_destroy(kymo_fiber* fiber) {
  if (fiber == nullptr) {
    return;
  }
  const std::uint64_t state = fiber->state.fetch_or(kymo_fiber::is_ownerless, std::memory_order_acq_rel);
  const bool is_entered =
      (state & kymo_fiber::is_entered) != 0 && kymo::record::generation_of(state) == kymo::record::this_generation();
  if (!is_entered) {
    kymo::record::end_fiber(fiber, state);
  }
}

int kymo_fiber_enter(kymo_fiber* fiber) {
  return kymo::record::enter(fiber) ? 1 : 0;
}

void kymo_fiber_leave(void) {
  if (kymo::record::is_in_fiber()) {
    kymo::record::leave();
  } else {
    kymo::record::say_left_nothing("a thread left a fiber without being in one");
  }
}
}
