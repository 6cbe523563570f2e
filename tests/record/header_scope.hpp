// A scope in a header that several files include.
#pragma once

#include <kymo/kymo.hpp>

namespace kymo::test {

inline void record_in_header() {
  KYMO_SCOPE("in a header");
}

/// The same, called by another file.
void record_in_header_elsewhere();

}  // namespace kymo::test
