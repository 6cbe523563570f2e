/* Scopes in C the way a C program writes them. */
#include <kymo/scope.h>

static int first_even(const int* values, int count) {
  KYMO_C_FUNCTION();
  for (int i = 0; i < count; ++i) {
    KYMO_C_SCOPE("step");
    if (values[i] % 2 == 0) {
      return values[i];
    }
  }
  return -1;
}

int main(void) {
  static const int values[] = {1, 3, 4};
  KYMO_C_BEGIN(search, "search");
  const int found = first_even(values, 3);
  KYMO_C_END(search);
  return found == 4 ? 0 : 1;
}
