// What ends a process without destructors, and what makes two of one.
#include <cstdlib>

#include <pthread.h>

#include "control/control.hpp"
#include "record/recorder.hpp"

namespace kymo::control {

void Control::watch_process() {
  // quick_exit runs no destructors.
  std::at_quick_exit([] {
    instance().stop_sampling();
    record::Recorder::instance().shut_down();
  });
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
