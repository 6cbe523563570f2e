// A plugin whose functions are hooked.
#include <kymo/kymo.hpp>

extern "C" __attribute__((visibility("default"), no_instrument_function)) void module_start() {
  kymo::enable();
}

extern "C" __attribute__((visibility("default"), noinline)) void module_function() {
  KYMO_SCOPE("in it");
}
