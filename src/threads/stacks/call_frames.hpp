// The call frame information of one file (.eh_frame, else .debug_frame), read with elfutils' libdw.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "threads/states/unwind_rule.hpp"

namespace kymo::threads {

/// Whether this kymo was built to read it, and the library is here.
[[nodiscard]] bool has_call_frames();

/// libdw bounds neither its memory nor its time in what a file says: for a process of its own (frame_process.hpp) that
/// may fail. One thread.
class CallFrames {
 public:
  /// None if the file is no longer the one with this inode, is no ELF file of this processor, or is larger than
  /// 1 GiB. "[vdso]" is the kernel's, which is the same in all processes.
  [[nodiscard]] static std::unique_ptr<CallFrames> open(const std::string& path, std::uint64_t inode);
  CallFrames() = default;
  CallFrames(const CallFrames&) = delete;
  CallFrames& operator=(const CallFrames&) = delete;
  virtual ~CallFrames() = default;

  /// The rule for an offset in the file; none if there is none. Some 10 us.
  [[nodiscard]] virtual std::optional<UnwindRule> find(std::uint64_t file_offset) = 0;
};

}  // namespace kymo::threads
