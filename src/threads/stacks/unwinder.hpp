// Call stacks from a copy of the stack and the registers, by the files' call frame information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "threads/stacks/address_spaces.hpp"
#include "threads/stacks/frame_process.hpp"
#include "threads/states/kernel_records.hpp"
#include "threads/states/unwind_rule.hpp"

namespace kymo::threads {

/// Keeps the rules that it was given. One thread.
class Unwinder {
 public:
  static constexpr std::size_t most_frames = 127;
  static constexpr std::size_t most_rules = std::size_t{1} << 17U;  ///< 24 MB; beyond, all are asked for anew

  struct File {
    const std::string& path;
    std::uint64_t inode;
  };
  using FileOf = std::function<File(std::uint32_t module)>;

  [[nodiscard]] bool is_running() const { return process_.is_running(); }

  /// See FrameProcess.
  void set_meanwhile(std::function<void()> meanwhile) { process_.set_meanwhile(std::move(meanwhile)); }
  /// Likewise.
  [[nodiscard]] std::vector<SourceFrame> find_source(std::uint32_t module, const std::string& path, std::uint64_t inode,
                                                     std::uint64_t address) {
    return process_.find_source(module, path, inode, address);
  }

  /// The chain of a sample that has a copy of the stack; of others the kernel's own, by frame pointers. A file without
  /// rules is unwound by frame pointers, too. Beyond the copy the kernel's chain goes on where it has the same caller;
  /// else address 0 stands for the rest. 0.1 us a frame whose rule is known.
  [[nodiscard]] std::vector<std::uint64_t> unwind(const KernelRecord& sample, const AddressSpaces& spaces,
                                                  const FileOf& file_of);

 private:
  using Rules = std::map<std::uint64_t, std::optional<UnwindRule>>;  // by begin

  [[nodiscard]] const UnwindRule* rule_of(const AddressSpaces::Place& place, const FileOf& file_of);

  FrameProcess process_;
  std::unordered_map<std::uint32_t, Rules> rules_;  // by module
  std::size_t count_ = 0;
};

}  // namespace kymo::threads
