// Reads the log of declarations from its chunks, for the collector and for recovery of a dead process's spool.
//
// A record is one word (kind | size in bytes << 8) and the record's bytes, padded to whole words:
//   integers little-endian; a text is its u16 size and its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::record {

enum class DeclarationKind : std::uint8_t {
  name = 1,          ///< u32 id, text
  site = 2,          ///< u32 id, u32 SiteKind, u32 line, texts: name, function, file
  track = 3,         ///< u32 id, u32 TrackKind, u64 thread id, text: name
  metric = 4,        ///< u32 id, u32 MetricKind, texts: name, unit; if it was described also text: source, u32 traits,
                     ///< u64 step's bits, u64 renewal, u64 window, u16 labels, texts: key, value of each
  frame_stream = 5,  ///< u32 id, text: name
  info = 6,          ///< texts: key, value
  hooked_site = 7,  ///< u32 id, u32 module, u64 address of the function, u64 load base, u64 size, texts: path, build id
};

inline constexpr std::size_t longest_declared_text = 1024;
inline constexpr std::size_t longest_metric_text = 256;
inline constexpr std::size_t most_metric_labels = 16;
inline constexpr std::size_t longest_declaration = (3 + 2 * most_metric_labels) * (longest_metric_text + 2) + 64;

/// A function met by compiler hooks and not yet named, and its module (id 0: none).
struct HookedSite {
  SiteId id;
  std::uint64_t address = 0;
  ModuleDeclaration module;
};

/// Reads records. Trusts nothing: an invalid record ends the reading.
void read_declarations(std::span<const std::uint64_t> words, Declarations& into, std::vector<HookedSite>& hooked);

}  // namespace kymo::record
