/* Scopes that C code leaves in each way it can leave a block. */
#include <kymo/scope.h>

int kymo_test_scopes_in_c(int rounds);

int kymo_test_scopes_in_c(int rounds) {
  KYMO_C_FUNCTION();
  for (int i = 0;; ++i) {
    KYMO_C_SCOPE("round");
    if (i + 1 == rounds) {
      return rounds;
    }
    KYMO_C_BEGIN(work, "work");
    KYMO_C_END(work);
  }
}
