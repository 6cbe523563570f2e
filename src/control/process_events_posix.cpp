// What makes two processes of one.
#include <new>

#include <pthread.h>

#include "control/control.hpp"

namespace kymo::control {

/// After the recorder's own, as its locks come after this one; before threads are there.
__attribute__((constructor(102))) void watch_forks() {
  static_cast<void>(Control::instance());
  ::pthread_atfork([] { Control::instance().mutex_.lock(); }, [] { Control::instance().mutex_.unlock(); },
                   [] {
                     Control& self = Control::instance();
                     self.did_parent_sample_ = self.sampling_.forget() || self.did_parent_sample_;
                     new (&self.operation_mutex_) std::mutex;
                     self.mutex_.unlock();
                   });
}

}  // namespace kymo::control
