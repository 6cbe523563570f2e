// There is no quick_exit() on macOS, so nothing ends a process without destructors but a crash.
#include "control/control.hpp"

namespace kymo::control {

void Control::watch_process() {
  watch_forks();
}

}  // namespace kymo::control
