// A small file with debug information.
volatile int kept = 0;

[[gnu::always_inline]] inline int add(int value) {
  return value + kept;
}

int main() {
  kept = add(1);
  return add(kept) - 1;
}
