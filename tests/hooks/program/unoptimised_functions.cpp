#include "unoptimised_functions.hpp"

#include <string>
#include <utility>

#include <kymo/kymo.hpp>

namespace unoptimised {

void uses_all_that_kymo_inlines() {
  KYMO_FUNCTION();
  KYMO_SCOPE("with arguments", {"count", 3}, {"share", 0.5}, {"is_last", true}, {"text", "words"});
  KYMO_ARG("later", 4U);
  {
    const std::string name = "named at run time";
    KYMO_SCOPE_DYNAMIC(name);
  }
  kymo::AsyncSpan span("lane", "span");
  kymo::AsyncSpan moved(std::move(span));
  moved.argument({"bytes", 1L});
  kymo::AsyncSpan adopted = kymo::AsyncSpan::adopt(moved.release());
  if (adopted.is_open()) {
    adopted.end();
  }
  kymo::ClockDomain clock(32.0);
  clock.add_pair(1, 1);
  kymo::SinkGuard guard(0);
  kymo::SinkGuard other(std::move(guard));
  kymo::record_metric("metric", 1.0);
  kymo::frame_mark();
}

}  // namespace unoptimised
