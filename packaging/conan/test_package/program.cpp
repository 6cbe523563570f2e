#include <cstdio>

#include <kymo/kymo.hpp>

int main() {
  if (!kymo::start_capture({"run.kymo"})) {
    return 1;
  }
  {
    KYMO_SCOPE("work");
  }
  std::printf("recorded by kymo %s\n", kymo::version());
  return kymo::stop_capture() ? 0 : 1;
}
