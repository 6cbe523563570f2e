// A page ends without a word, and never becomes two.
#include "control/control.hpp"

namespace kymo::control {

void Control::watch_process() {}

}  // namespace kymo::control
