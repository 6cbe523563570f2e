// What the host calls: records a call of the instrumented part, and says whether it was there.
#include <kymo/kymo.hpp>

#include "recorded_scopes.hpp"

int lone_work(int value);

extern "C" __attribute__((visibility("default"))) int records_its_calls() {
  Recording recording;
  lone_work(1);
  recording.stop();
  return recording.count("lone_work") == 1 && recording.scopes().size() == 1 ? 1 : 0;
}
