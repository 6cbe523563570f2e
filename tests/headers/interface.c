/* The C interface the way a C program uses it. */
#include <kymo/kymo.h>

static kymo_site site = {0, 0, "work", "main", __FILE__, __LINE__, KYMO_SITE_SCOPE};

int main(void) {
  kymo_capture_options options = {0};
  kymo_scope scope;
  options.struct_size = sizeof options;
  options.path = "run.kymo";
  if (!kymo_start_capture(&options)) {
    return 1;
  }
  scope = kymo_scope_begin(&site);
  kymo_argument_int64("count", 3);
  kymo_scope_end(scope);
  kymo_frame_mark(NULL);
  kymo_record_metric_unit("loss", 0.5, "nats");
  return kymo_stop_capture() ? 0 : 1;
}
