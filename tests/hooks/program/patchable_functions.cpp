#include "patchable_functions.hpp"

#include <map>
#include <string>

// Each function is out of reach of the optimiser.
#define OUT_OF_LINE __attribute__((noinline))
#define USE(value) __asm__ volatile("" : : "r"(value) : "memory")

namespace patchable {

OUT_OF_LINE int leaf(int value) {
  USE(value);
  return value + 1;
}

OUT_OF_LINE int outer(int value) {
  const int once = leaf(value);
  return leaf(once) + 1;
}

OUT_OF_LINE int excluded(int value) {
  USE(value);
  return value + 3;
}

OUT_OF_LINE int skipped(int value) {
  USE(value);
  return value + 4;
}

OUT_OF_LINE int throws_from(int depth) {
  if (depth == 0) {
    throw depth;
  }
  const int result = throws_from(depth - 1);
  USE(result);
  return result + 1;
}

OUT_OF_LINE int catches_from(int depth) {
  try {
    return throws_from(depth);
  } catch (int) {
    return leaf(depth);
  }
}

OUT_OF_LINE int calls_last(int value) {
  USE(value);
#ifdef __clang__
  __attribute__((musttail))
#endif
  return leaf(value);
}

OUT_OF_LINE int uses_library(int values) {
  std::map<std::string, int> counts;
  for (int i = 0; i < values; ++i) {
    ++counts[std::to_string(i % 7) + " is too long for a small string"];
  }
  return static_cast<int>(counts.size());
}

}  // namespace patchable
