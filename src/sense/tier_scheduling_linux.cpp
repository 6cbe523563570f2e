#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <algorithm>

#include "sense/tier_scheduling.hpp"

namespace kymo::sense {

long cpu_limit() noexcept {
  return std::min<long>(CPU_SETSIZE, ::sysconf(_SC_NPROCESSORS_CONF));
}

bool schedule_tier(Tier tier, const std::vector<int>& cpus) noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  // A faster tier goes first. Where no priority is permitted the thread keeps the scheduling it has.
  for (const int level : {3 - static_cast<int>(tier), 1}) {
    const sched_param priority{level};
    if (::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &priority) == 0) {
      break;
    }
  }
  if (cpus.empty()) {
    return true;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

}  // namespace kymo::sense
