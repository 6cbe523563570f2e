#include "record/header_scope.hpp"

namespace kymo::test {

void record_in_header_elsewhere() {
  record_in_header();
}

}  // namespace kymo::test
