#include "opaque.hpp"

#include "timing.hpp"

namespace kymo::benchmarks {

void opaque_call() {
  keep();
}

}  // namespace kymo::benchmarks
