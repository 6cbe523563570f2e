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

/// Other destructors of the thread may still record, also after the last call of ours.
__thread bool is_ending KYMO_STATIC_TLS = false;

void on_thread_end(void* /*mark*/) {
  is_ending = true;
  detach_thread();
}

/// Runs when the library is loaded, before the program creates keys of its own.
__attribute__((constructor)) void make_thread_end_key() {
  is_thread_end_told =
      ::pthread_key_create(&thread_end_key, on_thread_end) == 0 && thread_end_key < first_allocated_key;
}

}  // namespace

void watch_thread_end() noexcept {
  if (is_thread_end_told) {
    ::pthread_setspecific(thread_end_key, &thread_end_key);
  }
  if (TrackSlot* const slot = thread_slot(); slot != nullptr && (is_ending || !is_thread_end_told)) {
    slot->is_unwatched.store(true, std::memory_order_relaxed);
  }
}

}  // namespace kymo::record
