#include <cstdlib>

#include "base/variable.hpp"

namespace kymo::base {

const char* trusted_variable(const char* name) noexcept {
  return ::secure_getenv(name);
}

}  // namespace kymo::base
