/* The same program in C: KYMO_RECORD=run.kymo ./embed_c && kymo stats run.kymo */
#include <stdio.h>

#include <kymo/kymo.h>

static double work(int step) {
  static kymo_site site = {0, 0, "work", __func__, __FILE__, __LINE__, KYMO_SITE_SCOPE};
  const kymo_scope scope = kymo_scope_begin(&site);
  kymo_argument_int64("step", step);
  double sum = 0;
  for (int i = 1; i <= 20000; ++i) {
    sum += 1.0 / (step + i);
  }
  kymo_scope_end(scope);
  return sum;
}

int main(void) {
  kymo_enable();
  for (int step = 0; step < 1000; ++step) {
    kymo_record_metric("sum", work(step));
    kymo_frame_mark(NULL);
  }
  puts("1000 steps done");
  return 0;
}
