// NVMT version 1 files, read and written as they are: every byte of a row comes back as it was.
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

/// A file is not NVMT of a version that is known, or contradicts itself; what() names the file, and what is wrong.
class NvmtError : public ExchangeError {
 public:
  using ExchangeError::ExchangeError;
};

/// A whole trace. The counts in the header are those of the vectors.
struct NvmtTrace {
  nvmetrics::FileHeader header{};
  std::vector<nvmetrics::FastSample> fast;
  std::vector<nvmetrics::MediumSample> medium;
  std::vector<nvmetrics::SlowSample> slow;
  std::vector<nvmetrics::SyncPoint> sync;
};

/// Whether bytes begin as an NVMT file of any version does.
[[nodiscard]] bool is_nvmt(std::span<const std::byte> bytes);

/// Takes a trace apart; `name` is for messages. NvmtError where the bytes are too small, the magic or the version is
/// another, or the counts are not those of the size or of the columns. Allocates no more than the bytes' size.
[[nodiscard]] NvmtTrace parse_nvmt(std::span<const std::byte> bytes, const std::string& name);

/// The same with a file's content. NvmtError, also where it cannot be read.
[[nodiscard]] NvmtTrace read_nvmt(const std::string& path);

/// The bytes of a trace, its header with the magic, the version and the counts of the vectors.
[[nodiscard]] std::string encode_nvmt(const NvmtTrace& trace);

/// Writes a trace to a file, which holds what it held before or all of the trace. OutputError.
void write_nvmt(const NvmtTrace& trace, const std::string& path);

/// The text of a name's field: what stands before its first NUL, or all of it.
[[nodiscard]] std::string_view field_text(std::span<const char> field);
/// Puts a text into a name's field, cut where it is too long, and NULs behind it.
void set_field(std::span<char> field, std::string_view text);

}  // namespace kymo::exchange
