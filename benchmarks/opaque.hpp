// A call that the compiler cannot analyse and must assume to throw.
#pragma once

namespace kymo::benchmarks {

/// Does nothing.
void opaque_call();

}  // namespace kymo::benchmarks
