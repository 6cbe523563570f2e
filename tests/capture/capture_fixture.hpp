// Captures in memory and in files for tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {

using Bytes = std::vector<std::byte>;

/// Header facts and a process, as a recorder would state them.
[[nodiscard]] capture::CaptureWriterOptions sample_options();

/// A whole capture of these batches; without its end where the writer was not let finish.
[[nodiscard]] Bytes write_capture(const std::vector<EventBatch>& batches, bool finish = true,
                                  capture::CaptureWriterOptions options = sample_options());

[[nodiscard]] inline CaptureReader open_bytes(const Bytes& bytes) {
  return {bytes.data(), bytes.size(), "memory"};
}

/// Batches of tracks 1, 2, ... that each are declared, open and close two scopes, drop as many as their id, and end.
[[nodiscard]] std::vector<EventBatch> short_tracks(std::uint32_t tracks);

/// The description of each events block that can be read.
[[nodiscard]] std::vector<std::string> read_events(const CaptureReader& reader);

[[nodiscard]] std::size_t count_blocks(const CaptureReader& reader, BlockKind kind);

[[nodiscard]] Bytes read_file(const std::string& path);
void write_file(const std::string& path, const Bytes& bytes);

}  // namespace kymo::test
