// Keeps an installed sink installed.
#pragma once

#include <cstdint>

#include <kymo/export.hpp>

namespace kymo {

/// Removes its sink on destruction, after everything recorded until then was written to it.
class KYMO_API SinkGuard {
 public:
  SinkGuard() = default;
  KYMO_SKIP
  explicit SinkGuard(std::uint64_t handle) noexcept : handle_(handle) {}
  KYMO_SKIP
  SinkGuard(SinkGuard&& other) noexcept : handle_(other.handle_) { other.handle_ = 0; }
  SinkGuard& operator=(SinkGuard&& other) noexcept;
  SinkGuard(const SinkGuard&) = delete;
  SinkGuard& operator=(const SinkGuard&) = delete;
  ~SinkGuard();

  /// Removes the sink immediately. No effect if there is none.
  void remove() noexcept;

 private:
  std::uint64_t handle_ = 0;
};

}  // namespace kymo
