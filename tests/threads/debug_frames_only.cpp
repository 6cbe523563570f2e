#include "threads/debug_frames_only.hpp"

namespace kymo::test {

__attribute__((noinline)) int call_without_tables(int (*function)(void* context), void* context, void*& returns_to) {
  volatile char room[200];  // a frame of a size that nobody guesses
  room[0] = 1;
  returns_to = __builtin_return_address(0);
  return function(context) + room[0] - 1;
}

}  // namespace kymo::test
