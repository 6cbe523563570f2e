// From a .vor stream to a capture. docs/vor.md has the table of what becomes what.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exchange/vor.hpp"

namespace kymo::exchange {

/// What an import wrote.
struct VorImportReport {
  std::string output;  ///< the name asked for, or one with a suffix where that exists
  std::uint64_t frames = 0;
  std::uint64_t scopes = 0;
  std::uint64_t samples = 0;
  std::vector<std::string> losses;  ///< what is damaged or makes no sense and was left out, in words
};

/// Writes a stream as a capture: a frame mark and samples for each record, scopes on tracks of their threads. Reads the
/// stream twice; holds one record (at most 512 MiB with its flame part unpacked), a batch of about 65536 events (a
/// million in the midst of a frame), and names (at most 64 MiB).
///
/// VorError where there is no column frame_ms, no frame, or the frames' times do not fit; capture::WriteError.
VorImportReport import_vor(VorReader& reader, const std::string& path,
                           const std::function<void(double)>& on_progress = {});

}  // namespace kymo::exchange
