// What macOS adds to a fork, which is nothing: it has no quick_exit().
#include "control/control.hpp"

namespace kymo::control {

void Control::watch_process() {
  watch_forks();
}

}  // namespace kymo::control
