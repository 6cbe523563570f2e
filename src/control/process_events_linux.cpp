// What ends a process without destructors.
#include <cstdlib>

#include "control/control.hpp"
#include "record/recorder.hpp"

namespace kymo::control {

void Control::watch_process() {
  // quick_exit runs no destructors.
  std::at_quick_exit([] {
    instance().stop_sampling();
    record::Recorder::instance().shut_down();
  });
}

}  // namespace kymo::control
