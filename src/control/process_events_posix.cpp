// What makes two processes of one.
#include <pthread.h>

#include "control/control.hpp"

namespace kymo::control {

void Control::watch_forks() {
  // After the recorder's own: these locks are taken before the recorder's.
  ::pthread_atfork(
      [] {
        instance().sampling_mutex_.lock();
        instance().mutex_.lock();
      },
      [] {
        instance().mutex_.unlock();
        instance().sampling_mutex_.unlock();
      },
      [] {
        instance().did_parent_sample_ = instance().sampling_.forget() || instance().did_parent_sample_;
        instance().mutex_.unlock();
        instance().sampling_mutex_.unlock();
      });
}

}  // namespace kymo::control
