#include "capture/write/capture_writer.hpp"

namespace kymo::capture {

CaptureWriterOptions make_repack_options() {
  CaptureWriterOptions options;
  options.codec = make_zstd_codec();
  options.summary_intervals.most_blocks = 256;
  options.summary_intervals.enough_events = 1U << 23U;
  return options;
}

}  // namespace kymo::capture
