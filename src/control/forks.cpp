// Fork handlers of libkymo.
#include <new>

#include "base/system/fork_handlers.hpp"
#include "control/control.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::control {

/// Registered after the recorder's handlers, as its locks come after this one; before any thread exists.
__attribute__((constructor(102))) void watch_forks() {
  static_cast<void>(Control::instance());
  base::add_fork_handlers([] { Control::instance().mutex_.lock(); }, [] { Control::instance().mutex_.unlock(); },
                          [] {
                            const record::Recorder::ChildWaits waits;
                            Control& self = Control::instance();
                            self.did_parent_sample_ = self.sampling_.forget() || self.did_parent_sample_;
                            new (&self.operation_lock_) record::SignalSafeLock;
                            if (self.capture_) {
                              self.capture_->forget_followed();
                            }
                            self.mutex_.unlock();
                          });
}

}  // namespace kymo::control
