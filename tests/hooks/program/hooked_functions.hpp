// Functions that are recorded through compiler hooks.
#pragma once

namespace hooked {

int leaf(int value);
int middle(int value);
int outer(int value);  // calls middle twice, which calls leaf

int recursive(int depth);  // calls itself `depth` times

int ping(int depth);  // ping and pong call each other
int pong(int depth);

void throws_from(int depth);          // throws int from `depth` calls further down
int catches_from(int depth);          // catches that
int recursive_with_catch(int depth);  // each level catches what the next one throws after it returned

int jumps_back();  // longjmp over two functions

template <typename T>
__attribute__((noinline)) T scale(T value) {
  T result = value;
  __asm__ volatile("" : "+m"(result));
  return result * 2;
}
extern template float scale<float>(float);

int calls_static(int value);   // a function with internal linkage, and one of an anonymous namespace
int calls_skipped(int value);  // KYMO_SKIP
int calls_c(int value);
int with_argument(int value);  // KYMO_ARG("value", value)
int with_scope(int value);     // KYMO_SCOPE("inside")
int calls_lambda(int value);

class Widget {
 public:
  explicit Widget(int value);
  ~Widget();
  int operator()(int value) const;
  [[nodiscard]] virtual int area() const;

 private:
  int value_;
};

/// For signal handlers: calls a function that may never have been called before.
void from_signal_handler(int signal);
unsigned long handled_signals();

}  // namespace hooked

extern "C" int hooked_in_c(int value);
