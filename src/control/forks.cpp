// Fork handlers of libkymo.
#include <new>

#include <pthread.h>

#include "control/control.hpp"

namespace kymo::control {

/// Registered after the recorder's handlers, as its locks come after this one; before any thread exists.
__attribute__((constructor(102))) void watch_forks() {
  static_cast<void>(Control::instance());
  ::pthread_atfork([] { Control::instance().mutex_.lock(); }, [] { Control::instance().mutex_.unlock(); },
                   [] {
                     Control& self = Control::instance();
                     self.did_parent_sample_ = self.sampling_.forget() || self.did_parent_sample_;
                     new (&self.operation_mutex_) std::mutex;
                     if (self.capture_) {
                       self.capture_->forget_followed();
                     }
                     self.mutex_.unlock();
                   });
}

}  // namespace kymo::control
