#include <cerrno>

#include "threads/stacks/call_frames.hpp"
#include "threads/states/source.hpp"

namespace kymo::threads {

Refusal check_switch_events() {
  return {ENOTSUP, "kymo reads the run states of threads on Linux only", {}};
}

Refusal check_wake_events() {
  return check_switch_events();
}

bool has_call_frames() {
  return false;
}

}  // namespace kymo::threads
