// Reports a thread's end to the recorder.
#include <pthread.h>

#include "record/hot/fiber.hpp"
#include "record/hot/track_writer.hpp"

namespace kymo::record {

namespace {

/// The C library stores the values of its first keys in the thread itself. For later keys it allocates, which a signal
/// handler that interrupted an allocation must not do. With a later key, the ends of threads are not reported.
#ifdef __GLIBC__
constexpr pthread_key_t first_allocated_key = 32;
#else
constexpr pthread_key_t first_allocated_key = ~pthread_key_t{0};
#endif
pthread_key_t thread_end_key;
bool is_thread_end_told = false;

/// The key's value in a thread of which another destructor may still record, after the last call of ours.
char ending;

void on_thread_end(void* /*mark*/) {
  detach_thread();
  ::pthread_setspecific(thread_end_key, &ending);
}

/// Runs when the library is loaded, before the program creates keys of its own.
__attribute__((constructor)) void make_thread_end_key() {
  is_thread_end_told =
      ::pthread_key_create(&thread_end_key, on_thread_end) == 0 && thread_end_key < first_allocated_key;
}

}  // namespace

void watch_thread_end() noexcept {
  const bool is_ending = is_thread_end_told && ::pthread_getspecific(thread_end_key) == &ending;
  if (is_thread_end_told && !is_ending) {
    ::pthread_setspecific(thread_end_key, &thread_end_key);
  } else if (TrackSlot* const slot = thread_slot()) {
    slot->is_unwatched.store(true, std::memory_order_relaxed);
  }
}

}  // namespace kymo::record
