#include "checksum.h"

uint32_t store_checksum(const void* bytes, size_t size) {
  const unsigned char* next = bytes;
  uint32_t sum = 2166136261U;
  for (size_t i = 0; i < size; ++i) {
    sum = (sum ^ next[i]) * 16777619U;
  }
  return sum;
}
