// Imports a .vor stream into a capture. docs/vor.md has the mapping.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exchange/vor/format.hpp"

namespace kymo::exchange {

/// The result of an import.
struct VorImportReport {
  std::string output;  ///< the requested name, or one with a suffix if that exists
  std::uint64_t frames = 0;
  std::uint64_t scopes = 0;
  std::uint64_t samples = 0;
  std::vector<std::string> losses;  ///< in words: damaged or implausible parts that were left out
};

/// Writes a stream as a capture: a frame mark and samples for each record, scopes on the tracks of their threads. Reads
/// the stream twice. Holds one record (at most 512 MiB with its flame part unpacked), a batch of about 65536 events (a
/// million in the middle of a frame), and names (at most 64 MiB).
///
/// Throws VorError if there is no column frame_ms, no frame, or frame times that do not fit; throws
/// capture::WriteError.
VorImportReport import_vor(VorReader& reader, const std::string& path,
                           const std::function<void(double)>& on_progress = {});

}  // namespace kymo::exchange
