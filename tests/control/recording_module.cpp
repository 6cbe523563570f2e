// A plugin that records with the recorder it finds in the process, or brings one of its own where it was linked
// statically.
#include <kymo/kymo.hpp>

extern "C" __attribute__((visibility("default"))) void module_work() {
  kymo::enable();
  for (int i = 0; i < 1'000; ++i) {
    KYMO_SCOPE("module");
  }
}
