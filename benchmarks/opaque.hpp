// A call that the compiler cannot see through: for all it knows, it throws.
#pragma once

namespace kymo::benchmarks {

/// Does nothing.
void opaque_call();

}  // namespace kymo::benchmarks
