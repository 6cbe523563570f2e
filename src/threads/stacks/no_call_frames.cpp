// Without libdw's headers, or on a processor that is neither x86-64 nor arm64.
#include "threads/stacks/call_frames.hpp"
#include "threads/stacks/source_frames.hpp"

namespace kymo::threads {

struct CallFrames::State {};

bool has_call_frames() {
  return false;
}

std::unique_ptr<CallFrames> CallFrames::open(const std::string& /*path*/, std::uint64_t /*inode*/) {
  return nullptr;
}

CallFrames::~CallFrames() = default;

std::optional<UnwindRule> CallFrames::find(std::uint64_t /*file_offset*/) const {
  return std::nullopt;
}

struct SourceFrames::State {};

std::unique_ptr<SourceFrames> SourceFrames::open(const std::string& /*path*/, std::uint64_t /*inode*/) {
  return nullptr;
}

SourceFrames::~SourceFrames() = default;

std::vector<SourceFrame> SourceFrames::find(std::uint64_t /*address*/) {
  return {};
}

}  // namespace kymo::threads
