/* C is hooked as well. */
int hooked_in_c(int value);

__attribute__((noinline)) int hooked_in_c(int value) {
  __asm__ volatile("" : : "r"(value) : "memory");
  return value + 1;
}
