// Opens a timeline of a capture in memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::test {

/// The bytes must outlive the result.
inline Timeline open_memory(const std::vector<std::byte>& bytes) {
  std::vector<CaptureReader> readers;
  readers.emplace_back(bytes.data(), bytes.size(), "memory");
  return Timeline(std::move(readers));
}

}  // namespace kymo::test
