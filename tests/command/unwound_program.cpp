// Computes at the ends of stacks that are hard to follow: in a handler of a signal, while an exception passes, below a
// function whose frame is as large as its argument says.
#include <alloca.h>

#include <csignal>
#include <cstring>
#include <stdexcept>

namespace maze {

volatile double kept = 0;

[[gnu::noinline]] void burn(int units) {
  double value = kept;
  for (int i = 0; i < units * 100'000; ++i) {
    value = 1 / (value + 1.5);
  }
  kept = value;
}

[[gnu::noinline]] void handle(int /*number*/) {
  burn(5);
  kept = kept + 1;
}
[[gnu::noinline]] void interrupt() {
  std::raise(SIGUSR1);
  kept = kept + 1;
}

struct Cleanup {
  ~Cleanup() { burn(5); }
};
[[gnu::noinline]] void fail() {
  const Cleanup cleanup;
  if (kept >= 0) {
    throw std::runtime_error("as planned");
  }
}
[[gnu::noinline]] void attempt() {
  try {
    fail();
  } catch (const std::runtime_error&) {
    kept = kept + 1;
  }
}

[[gnu::noinline]] void stretch(std::size_t bytes) {
  auto* const room = static_cast<char*>(alloca(bytes));
  std::memset(room, 1, bytes);
  burn(5);
  kept = kept + room[bytes / 2];
}

}  // namespace maze

int main() {
  std::signal(SIGUSR1, maze::handle);
  for (int i = 0; i < 60; ++i) {
    maze::interrupt();
    maze::attempt();
    maze::stretch(static_cast<std::size_t>(100 * (i + 1)));
  }
  return 0;
}
