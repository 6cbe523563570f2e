#include "record/hooks/hook_thread.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include "record/platform/platform.hpp"

namespace kymo::record {

__thread HookThread* hook_thread KYMO_STATIC_TLS = nullptr;

namespace {

pthread_key_t hook_thread_key;
bool has_hook_thread_key = false;

void free_hook_thread(void* memory) {
  hook_thread = nullptr;
  detail::signal_fence();
  ::munmap(memory, sizeof(HookThread));
}

/// Created when the library is loaded: the C library stores the values of its first keys without allocating. For later
/// keys it allocates, which a signal handler that interrupted an allocation must not do. With a later key, nobody
/// reports the ends of threads.
__attribute__((constructor)) void make_hook_thread_key() {
  has_hook_thread_key = ::pthread_key_create(&hook_thread_key, free_hook_thread) == 0 && hook_thread_key < 32;
}

/// The memory of all threads whose end nobody reports, and where the next look begins. Null in the list's middle where
/// the kernel cleared a forked child's: the rest belonged to threads of the parent.
std::atomic<HookThread*> unwatched{nullptr};
std::atomic<HookThread*> next_look{nullptr};

void list_unwatched(HookThread& thread) noexcept {
  thread.owner.store(os_thread_id(), std::memory_order_relaxed);
  thread.next = unwatched.load(std::memory_order_relaxed);
  while (!unwatched.compare_exchange_weak(thread.next, &thread, std::memory_order_release)) {
  }
}

/// Takes the memory of a thread that has ended. The count above its id tells another owner with that id from it.
bool take(HookThread& thread) noexcept {
  constexpr std::uint64_t one_more_owner = std::uint64_t{1} << 32U;
  std::uint64_t owner = thread.owner.load(std::memory_order_relaxed);
  const std::uint64_t taken = (owner & ~(one_more_owner - 1)) + one_more_owner + os_thread_id();
  if (owner == 0 || !has_thread_ended(owner & (one_more_owner - 1)) ||
      !thread.owner.compare_exchange_strong(owner, taken, std::memory_order_acquire)) {
    return false;
  }
  // A frame's function is null outside of use.
  for (; thread.depth > 0; --thread.depth) {
    thread.frames[thread.depth - 1].function = nullptr;
  }
  thread.unpushed = 0;
  return true;
}

/// Looks at a few only: threads that live may be many. Each new one looks further, so most of the memory is in use.
HookThread* take_of_ended_thread() noexcept {
  constexpr int most_looks = 16;
  HookThread* next = next_look.load(std::memory_order_acquire);
  HookThread* found = nullptr;
  for (int looks = 0; looks < most_looks && found == nullptr; ++looks) {
    next = next != nullptr ? next : unwatched.load(std::memory_order_acquire);
    if (next == nullptr) {
      return nullptr;
    }
    found = take(*next) ? next : nullptr;
    next = next->next;
  }
  next_look.store(next, std::memory_order_release);
  return found;
}

HookThread* map_hook_thread() noexcept {
  void* const memory =
      ::mmap(nullptr, sizeof(HookThread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  auto* const thread = static_cast<HookThread*>(memory);
  const bool is_cleared_in_child = ::madvise(memory, sizeof(HookThread), MADV_WIPEONFORK) == 0;
  ::madvise(memory, sizeof(HookThread), MADV_NOHUGEPAGE);
  if (has_hook_thread_key) {
    ::pthread_setspecific(hook_thread_key, memory);
  } else if (is_cleared_in_child) {
    // Elsewhere a forked child would take its owner, which has another id there, for a thread that has ended.
    list_unwatched(*thread);
  }
  return thread;
}

}  // namespace

HookThread* make_hook_thread() noexcept {
  // The functions of a handler that came in between would have memory of their own.
  const SignalsHeld held;
  if (hook_thread == nullptr && !has_hook_thread_key) {
    hook_thread = take_of_ended_thread();
  }
  if (hook_thread == nullptr) {
    hook_thread = map_hook_thread();
  }
  return hook_thread;
}

}  // namespace kymo::record
