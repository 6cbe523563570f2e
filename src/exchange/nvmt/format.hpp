// Reads and writes NVMT version 1 files. Every byte of a row is preserved.
//
//   [FileHeader 728][FastSample 98 x N][MediumSample 104 x M][SlowSample 72 x S][SyncPoint 16 x P]
//
// kymo/nvmetrics.hpp has the structs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/exchange.hpp>
#include <kymo/nvmetrics.hpp>

namespace kymo::exchange {

/// A file is not NVMT, has an unknown version, or contradicts itself. what() names the file and the problem.
class NvmtError : public ExchangeError {
 public:
  using ExchangeError::ExchangeError;
};

/// A whole trace. The counts in the header equal the sizes of the vectors.
struct NvmtTrace {
  nvmetrics::FileHeader header{};
  std::vector<nvmetrics::FastSample> fast;
  std::vector<nvmetrics::MediumSample> medium;
  std::vector<nvmetrics::SlowSample> slow;
  std::vector<nvmetrics::SyncPoint> sync;
};

/// Whether the bytes begin like an NVMT file of any version.
[[nodiscard]] bool is_nvmt(std::span<const std::byte> bytes);

/// Parses a trace; `name` is for messages. Throws NvmtError if there are too few bytes, the magic or version differs,
/// or the counts contradict the size or the columns. Allocates no more than the bytes' size.
[[nodiscard]] NvmtTrace parse_nvmt(std::span<const std::byte> bytes, const std::string& name);

/// Parses a file. Throws NvmtError, also if the file cannot be read.
[[nodiscard]] NvmtTrace read_nvmt(const std::string& path);

/// The text of a name's field: everything before its first NUL, or the whole field.
[[nodiscard]] std::string_view field_text(std::span<const char> field);
/// Stores a text in a name's field, cut if too long and padded with NULs.
void set_field(std::span<char> field, std::string_view text);

}  // namespace kymo::exchange
