// Without libdw's headers, or on a processor that is neither x86-64 nor arm64.
#include "threads/stacks/call_frames.hpp"
#include "threads/stacks/source_frames.hpp"

namespace kymo::threads {

bool has_call_frames() {
  return false;
}

std::unique_ptr<CallFrames> CallFrames::open(const std::string& /*path*/, std::uint64_t /*inode*/) {
  return nullptr;
}

std::unique_ptr<SourceFrames> SourceFrames::open(const std::string& /*path*/, std::uint64_t /*inode*/) {
  return nullptr;
}

}  // namespace kymo::threads
