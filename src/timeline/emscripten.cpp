// Browsers have no shared memory of killed processes.
#include "timeline/unwritten.hpp"

namespace kymo::timeline {

std::vector<EventBatch> find_unwritten(const CaptureReader& /*capture*/, std::vector<std::string>& /*complaints*/) {
  return {};
}

}  // namespace kymo::timeline
