// Data that a capture's killed writer left in shared memory.
#include "timeline/unwritten.hpp"

#include <exception>

#include "capture/recover/recovery.hpp"

namespace kymo::timeline {

std::vector<EventBatch> find_unwritten(const CaptureReader& capture, std::vector<std::string>& complaints) {
  std::vector<EventBatch> batches;
  try {
    for (std::string& note :
         capture::read_unwritten(capture, [&batches](const EventBatch& batch) { batches.push_back(batch); })) {
      complaints.push_back(capture.path() + ": " + note);
    }
  } catch (const std::exception& failure) {
    complaints.push_back(capture.path() + ": what its process left in shared memory cannot be read: " + failure.what());
  }
  return batches;
}

}  // namespace kymo::timeline
