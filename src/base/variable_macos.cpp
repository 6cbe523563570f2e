#include <unistd.h>
#include <cstdlib>

#include "base/variable.hpp"

namespace kymo::base {

const char* trusted_variable(const char* name) noexcept {
  return ::issetugid() != 0 ? nullptr : std::getenv(name);
}

}  // namespace kymo::base
