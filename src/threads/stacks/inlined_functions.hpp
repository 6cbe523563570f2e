// The functions that a compiler put into others, from the debug information (.debug_info) of one file, read with elfutils'
// libdw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kymo::threads {

/// libdw bounds neither its memory nor its time in what a file says: for a process of its own (frame_process.hpp) that may
/// fail. One thread.
class InlinedFunctions {
 public:
  static constexpr std::size_t most = 64;  ///< of one address

  /// None without libdw, if the file is no longer the one with this inode, is larger than 1 GiB, or has no debug
  /// information. Reads the address ranges of all units: 2 us each.
  [[nodiscard]] static std::unique_ptr<InlinedFunctions> open(const std::string& path, std::uint64_t inode);
  ~InlinedFunctions();
  InlinedFunctions(const InlinedFunctions&) = delete;
  InlinedFunctions& operator=(const InlinedFunctions&) = delete;

  /// The names of the functions whose code is at an address of the file within another function's, the innermost last: as
  /// the linker would call them, or as the source does. The first of a unit reads where its functions are.
  [[nodiscard]] std::vector<std::string> find(std::uint64_t address);

 private:
  struct State;
  explicit InlinedFunctions(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kymo::threads
