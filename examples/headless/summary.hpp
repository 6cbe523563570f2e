// What a capture says about a run, worked out with the reader.
#pragma once

#include <string>

namespace headless {

/// Prints how long each site took, how the frames were paced and where the metrics ended. Takes a capture or a
/// directory of captures. kymo::CaptureError where there is none.
void print_summary(const std::string& path);

}  // namespace headless
