// A minimal program that records itself: KYMO_RECORD=run.kymo ./embed && kymo stats run.kymo
#include <cmath>
#include <cstdio>

#include <kymo/kymo.hpp>

static double work(int step) {
  KYMO_SCOPE("work", {"step", step});
  double sum = 0;
  for (int i = 1; i <= 20'000; ++i) {
    sum += std::sin(step + 1.0 / i);
  }
  return sum;
}

int main() {
  kymo::enable();
  for (int step = 0; step < 1'000; ++step) {
    kymo::record_metric("sum", work(step));
    kymo::frame_mark();
  }
  std::puts("1000 steps done");
}
