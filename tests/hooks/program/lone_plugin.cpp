// A plugin that brings kymo into a program which knows nothing of it.
__attribute__((noinline)) int lone_work(int value) {
  __asm__ volatile("" : : "r"(value) : "memory");
  return value + 1;
}
