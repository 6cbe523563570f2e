#include <pthread.h>

#include "base/thread_name.hpp"

namespace kymo::base {

void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace kymo::base
