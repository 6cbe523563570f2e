#include <kymo/kymo.h>

int work_in_c(int value);

int work_in_c(int value) {
  static kymo_site site = {0, 0, "in C", "work_in_c", __FILE__, __LINE__, KYMO_SITE_SCOPE};
  const kymo_scope scope = kymo_scope_begin(&site);
  const int result = value + 1;
  kymo_scope_end(scope);
  return result;
}
