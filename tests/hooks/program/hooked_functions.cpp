#include "hooked_functions.hpp"

#include <csetjmp>

#include <kymo/kymo.hpp>

// Each function is out of reach of the optimiser, so that what is hooked does not depend on it.
#define OUT_OF_LINE __attribute__((noinline))

namespace hooked {

namespace {

/// Makes the optimiser believe that a value is used here, after what stands before.
KYMO_SKIP
inline void use(int value) {
  __asm__ volatile("" : : "r"(value) : "memory");
}

std::jmp_buf back;
unsigned long signals = 0;  // atomic by built-ins, which are no functions that could be hooked

OUT_OF_LINE int in_anonymous_namespace(int value) {
  use(value);
  return value + 1;
}

OUT_OF_LINE void jump() {
  use(1);
  std::longjmp(back, 1);
}

OUT_OF_LINE void before_jump() {
  jump();
  use(2);
}

OUT_OF_LINE void handled() {
  __atomic_fetch_add(&signals, 1UL, __ATOMIC_RELAXED);
}

}  // namespace

OUT_OF_LINE static int with_internal_linkage(int value) {
  use(value);
  return in_anonymous_namespace(value) + 1;
}

KYMO_SKIP
OUT_OF_LINE int skipped(int value);
OUT_OF_LINE int skipped(int value) {
  return leaf(value);
}

OUT_OF_LINE int leaf(int value) {
  use(value);
  return value + 1;
}

OUT_OF_LINE int middle(int value) {
  return leaf(value) + 1;
}

OUT_OF_LINE int outer(int value) {
  return middle(value) + middle(value + 1);
}

OUT_OF_LINE int recursive(int depth) {
  const int result = depth == 0 ? 0 : recursive(depth - 1) + 1;
  use(result);
  return result;
}

OUT_OF_LINE int ping(int depth) {
  const int result = depth == 0 ? 0 : pong(depth - 1) + 1;
  use(result);
  return result;
}

OUT_OF_LINE int pong(int depth) {
  const int result = depth == 0 ? 0 : ping(depth - 1) + 1;
  use(result);
  return result;
}

OUT_OF_LINE void throws_from(int depth) {
  if (depth == 0) {
    throw 42;
  }
  throws_from(depth - 1);
  use(depth);
}

OUT_OF_LINE int catches_from(int depth) {
  try {
    throws_from(depth);
  } catch (int thrown) {
    return leaf(thrown);
  }
  return 0;
}

OUT_OF_LINE int recursive_with_catch(int depth) {
  try {
    if (depth > 0) {
      recursive_with_catch(depth - 1);
    }
    throws_from(0);
  } catch (int) {
    use(depth);
  }
  return depth;
}

OUT_OF_LINE int jumps_back() {
  if (setjmp(back) == 0) {
    before_jump();
  }
  return leaf(1);
}

template float scale<float>(float);

OUT_OF_LINE int calls_static(int value) {
  return with_internal_linkage(value) + 1;
}
OUT_OF_LINE int calls_skipped(int value) {
  return skipped(value) + 1;
}
OUT_OF_LINE int calls_c(int value) {
  return hooked_in_c(value) + 1;
}

OUT_OF_LINE int with_argument(int value) {
  KYMO_ARG("value", value);
  return leaf(value) + 1;
}

OUT_OF_LINE int with_scope(int value) {
  KYMO_SCOPE("inside", {"value", value});
  return leaf(value) + 1;
}

OUT_OF_LINE int calls_lambda(int value) {
  const auto add = [value](int more) __attribute__((noinline)) {
    use(more);
    return value + more;
  };
  return add(1) + 1;
}

OUT_OF_LINE Widget::Widget(int value) : value_(value) {
  use(value);
}
OUT_OF_LINE Widget::~Widget() {
  use(0);
}
OUT_OF_LINE int Widget::operator()(int value) const {
  use(value);
  return value_ + value;
}
OUT_OF_LINE int Widget::area() const {
  use(value_);
  return value_ * value_;
}

OUT_OF_LINE void from_signal_handler(int /*signal*/) {
  handled();
  use(3);
}
KYMO_SKIP
unsigned long handled_signals();
unsigned long handled_signals() {
  return __atomic_load_n(&signals, __ATOMIC_RELAXED);
}

}  // namespace hooked
