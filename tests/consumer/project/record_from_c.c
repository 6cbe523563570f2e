/* Records one scope into the capture named on the command line through the C interface. */
#include <stdio.h>

#include <kymo/kymo.h>

static kymo_site work_site = {0, 0, "consumed", "main", __FILE__, __LINE__, KYMO_SITE_SCOPE};

int main(int argc, char** argv) {
  kymo_capture_options options = {0};
  kymo_scope scope;
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
  return kymo_stop_capture() ? 0 : 1;
}
