// Rules of unwinding, and functions and lines of the source, from a process of its own, so that no file can harm the
// recording.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/system/file.hpp"
#include "threads/stacks/source_frames.hpp"
#include "threads/states/unwind_rule.hpp"

namespace kymo::threads {

/// A process that reads files' call frame information (call_frames.hpp) and debug information (source_frames.hpp). What
/// crashes there, takes more than two seconds or 2 GiB costs what that file has of the kind. One thread.
class FrameProcess {
 public:
  /// Begins the process; without libdw there is none, and no rules. Call while the process has a single thread.
  FrameProcess();
  FrameProcess(const FrameProcess&) = delete;
  FrameProcess& operator=(const FrameProcess&) = delete;
  ~FrameProcess();

  [[nodiscard]] bool is_running() const { return static_cast<bool>(socket_); }

  /// What is called every 10 ms while an answer is waited for.
  void set_meanwhile(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  /// The rule for an offset in the file that the caller calls `module`. Some 30 us; the first of a file takes longer.
  [[nodiscard]] std::optional<UnwindRule> find(std::uint32_t module, const std::string& path, std::uint64_t inode,
                                               std::uint64_t file_offset);

  /// See SourceFrames, of the file that the caller calls `module`. Some 50 us; the first of a file takes longer.
  [[nodiscard]] std::vector<SourceFrame> find_source(std::uint32_t module, const std::string& path, std::uint64_t inode,
                                                     std::uint64_t address);

 private:
  struct Reply;
  [[nodiscard]] std::optional<Reply> ask(std::uint32_t module, bool is_of_source, const std::string& path,
                                         std::uint64_t inode, std::uint64_t place);

  base::FileDescriptor socket_;
  pid_t pid_ = -1;
  std::uint64_t asked_ = 0;
  /// Files without rules, or (true) without debug information, or that the process failed at.
  std::set<std::pair<std::uint32_t, bool>> refused_;
  std::function<void()> meanwhile_;
};

}  // namespace kymo::threads
