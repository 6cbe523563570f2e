// Analyses the capture of a run with the reader.
#pragma once

#include <string>

namespace headless {

/// Prints the time of each site, the pacing of frames and the final values of metrics. Takes a capture or a directory
/// of captures. Throws kymo::CaptureError if there is none.
void print_summary(const std::string& path);

}  // namespace headless
