// Programs whose threads have what kymo's threads must not take over, as the first argument says: harm_program.cpp.
#include "harm_program.hpp"

#include <cfenv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace {

/// Ends with 77 where the system permits no real-time priority.
void stay_alone_at_a_real_time_priority() {
  const sched_param first{1};
  if (::sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
    ::_exit(77);
  }
  kymo::enable();
  work("main");
  require(kymo::flush(), "flush");
  int ordinary = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream file(task.path() / "comm");
    std::getline(file, name);
    if (name == "kymo-collector" || name == "kymo-states") {
      const int policy = ::sched_getscheduler(static_cast<pid_t>(std::stoi(task.path().filename().string())));
      require(policy == SCHED_OTHER, "kymo's threads leave the priority that they inherit");
      ++ordinary;
    }
  }
  require(ordinary > 0, "the collector has its name");
  require(::sched_getscheduler(0) == SCHED_FIFO, "the program keeps its priority");
}

/// Ends with 77 where the processor has no such traps.
void trap_floating_point() {
  if (::feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW) == -1 || ::fegetexcept() == 0) {
    ::_exit(77);
  }
  kymo::enable();
  work("trapping");
  for (int i = 0; i < 100; ++i) {
    kymo::record_metric("loss", std::numeric_limits<double>::quiet_NaN());
    kymo::record_metric("gain", std::numeric_limits<double>::infinity());
  }
  require(kymo::flush(), "flush()");
  kymo::disable();
  kymo::enable();
  work("trapping");
}

void run_on_small_stacks() {
  constexpr std::size_t small = std::size_t{24} * 1024;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  require(::pthread_attr_setstacksize(&attributes, small) == 0, "a stack is that small");
  require(::pthread_setattr_default_np(&attributes) == 0, "stacks are that small");
  kymo::enable();
  work("on a small stack");
  require(kymo::flush(), "flush()");
}

}  // namespace

Modes thread_modes() {
  return {
      {"real-time", stay_alone_at_a_real_time_priority},
      {"small-stacks", run_on_small_stacks},
      {"trapping", trap_floating_point},
  };
}
