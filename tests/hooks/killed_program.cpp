// Calls functions that hooks record, and is killed before anybody can have named them.
#include <csignal>

#include <unistd.h>

#include <kymo/kymo.hpp>

namespace hooked {
int outer(int value);
}

int main(int argc, char** argv) {
  kymo::CaptureOptions options;
  options.path = argv[argc - 1];
  if (argc != 2 || !kymo::start_capture(options)) {
    return 1;
  }
  hooked::outer(1);
  ::kill(::getpid(), SIGKILL);
}
