/* Records a scope, and one on a fiber, into the capture named on the command line through the C interface. */
#include <stdio.h>

#include <kymo/scope.h>

static kymo_site work_site = {0, 0, "consumed", "main", __FILE__, __LINE__, KYMO_SITE_SCOPE};

int main(int argc, char** argv) {
  kymo_capture_options options = {0};
  kymo_fiber* fiber = NULL;
  kymo_scope scope;
  int is_entered = 0;
  if (argc != 2) {
    fprintf(stderr, "usage: record_from_c CAPTURE\n");
    return 2;
  }
  options.struct_size = sizeof options;
  options.path = argv[1];
  if (!kymo_start_capture(&options)) {
    return 1;
  }
  scope = kymo_scope_begin(&work_site);
  kymo_argument_int64("count", 3);
  kymo_scope_end(scope);
  fiber = kymo_fiber_create("task", 4);
  is_entered = kymo_fiber_enter(fiber);
  scope = kymo_scope_begin(&work_site);
  kymo_scope_end(scope);
  kymo_fiber_leave();
  kymo_fiber_destroy(fiber);
  return kymo_stop_capture() && is_entered ? 0 : 1;
}
