// A timeline of a capture that lies in memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::test {

/// The bytes have to outlive what is returned.
inline Timeline open_memory(const std::vector<std::byte>& bytes) {
  std::vector<CaptureReader> readers;
  readers.emplace_back(bytes.data(), bytes.size(), "memory");
  return Timeline(std::move(readers));
}

}  // namespace kymo::test
