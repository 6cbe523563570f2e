// A program as its author wrote it, without a word about kymo.
__attribute__((noinline)) int collatz_steps(long number) {
  int steps = 0;
  for (; number != 1; ++steps) {
    number = number % 2 == 0 ? number / 2 : 3 * number + 1;
  }
  return steps;
}

int main() {
  int longest = 0;
  for (long number = 1; number <= 100; ++number) {
    const int steps = collatz_steps(number);
    longest = steps > longest ? steps : longest;
  }
  return longest == 118 ? 0 : 1;
}
