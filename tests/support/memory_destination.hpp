// A capture in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/write/destination.hpp"

namespace kymo::capture {

/// Growing memory.
class MemoryDestination final : public BlockDestination {
 public:
  explicit MemoryDestination(std::shared_ptr<std::vector<std::byte>> bytes) : bytes_(std::move(bytes)) {}

  void append(std::span<const std::byte> bytes) override { bytes_->insert(bytes_->end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::string name_ = "memory";
};

}  // namespace kymo::capture
