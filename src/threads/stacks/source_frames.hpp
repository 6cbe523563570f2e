// Functions and lines of the source, from the debug information (.debug_info, .debug_line) of one file, read with
// elfutils' libdw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kymo::threads {

/// A function of the source that an address belongs to.
struct SourceFrame {
  std::string symbol;  ///< as the linker would call it, or as the source does
  std::string file;    ///< the path where it is defined; empty: unknown
  std::uint32_t line =
      0;  ///< in that file: of the address, or of the call of the next function; 0: unknown, or elsewhere
};

/// libdw bounds neither its memory nor its time in what a file says: for a process of its own (frame_process.hpp) that
/// may fail. One thread.
class SourceFrames {
 public:
  static constexpr std::size_t most_inlined = 64;  ///< of one address

  /// None without libdw, if the file is no longer the one with this inode, is larger than 1 GiB, or has no debug
  /// information. Reads the address ranges of all units: 2 us each.
  [[nodiscard]] static std::unique_ptr<SourceFrames> open(const std::string& path, std::uint64_t inode);
  SourceFrames() = default;
  SourceFrames(const SourceFrames&) = delete;
  SourceFrames& operator=(const SourceFrames&) = delete;
  virtual ~SourceFrames() = default;

  /// The function that has code at an address of the file, then those that the compiler put into it there, the
  /// innermost last. Empty if the debug information has none. The first of a unit reads its functions and lines.
  [[nodiscard]] virtual std::vector<SourceFrame> find(std::uint64_t address) = 0;
};

}  // namespace kymo::threads
