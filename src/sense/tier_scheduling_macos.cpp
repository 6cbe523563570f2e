#include <pthread/qos.h>

#include "sense/tier_scheduling.hpp"

namespace kymo::sense {

long cpu_limit() noexcept {
  return 0;
}

bool schedule_tier(Tier /*tier*/, const std::vector<int>& cpus) noexcept {
  // The class whose timers macOS puts off least; a thread of a lower one may also be kept to the slow cores.
  ::pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
  return cpus.empty();
}

}  // namespace kymo::sense
