/* C is hooked as well. */
int hooked_in_c(int value);

static volatile int sink;

__attribute__((noinline)) int hooked_in_c(int value) {
  sink = value;
  return value + 1;
}
