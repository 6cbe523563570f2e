// Goes to the end of a stack that is hard to follow, prints its process id there, and computes or sleeps until a signal
// ends it: held_program plain|deep|handler|cleanup|stretch|thread computing|waiting
#include <alloca.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace maze {

volatile double kept = 0;
bool waits = false;

// Each function does something after its call, which is thus no jump.

[[gnu::noinline]] void hold() {
  std::printf("%d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  while (kept >= 0) {
    kept = 1 / (kept + 1.5);
    if (waits) {
      ::usleep(1'000);
    }
  }
}

[[gnu::noinline]] void plain() {
  hold();
  kept = kept + 1;
}

[[gnu::noinline]] void descend(int levels) {
  levels == 0 ? plain() : descend(levels - 1);
  kept = kept + levels;
}

[[gnu::noinline]] void handle(int /*number*/) {
  hold();
  kept = kept + 1;
}
[[gnu::noinline]] void interrupt() {
  std::signal(SIGUSR1, handle);
  std::raise(SIGUSR1);
  kept = kept + 1;
}

struct Cleanup {
  ~Cleanup() { hold(); }
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
  hold();
  kept = kept + room[bytes / 2];
}

}  // namespace maze

int main(int count, char** words) {
  const std::string_view way = count > 1 ? words[1] : "";
  maze::waits = count > 2 && std::string_view(words[2]) == "waiting";
  if (way == "plain") {
    maze::plain();
  } else if (way == "deep") {
    maze::descend(40);
  } else if (way == "handler") {
    maze::interrupt();
  } else if (way == "cleanup") {
    maze::attempt();
  } else if (way == "stretch") {
    maze::stretch(2'000);
  } else if (way == "thread") {
    std::thread(maze::plain).join();
  }
  return 1;
}
