// One recorder a process: a WebAssembly program is one image.
#include "record/recorder.hpp"

namespace kymo::record {

bool Recorder::claim_process() noexcept {
  return true;
}

}  // namespace kymo::record
