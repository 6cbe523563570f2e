// No spools are handed over on macOS.
#include "control/spool_holder.hpp"

namespace kymo::control {

int connect_to_holder(const std::string& /*path*/) {
  return -1;
}

}  // namespace kymo::control
