// Data that a capture's killed writer left in shared memory.
#include "timeline/unwritten.hpp"

#include <exception>

#include "capture/recover/recovery.hpp"
#include "capture/recover/spool_file.hpp"

namespace kymo::timeline {

std::vector<EventBatch> find_unwritten(CaptureReader& capture, std::vector<std::string>& complaints) {
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

Writer look_for_writer(const CaptureReader& capture) {
  switch (capture::find_writer(capture).kind) {
    case capture::WriterState::Kind::living:
    case capture::WriterState::Kind::closed:
      return Writer::living;
    case capture::WriterState::Kind::gone:
      return Writer::gone;
    case capture::WriterState::Kind::unknown:
      break;
  }
  return Writer::unknown;
}

}  // namespace kymo::timeline
