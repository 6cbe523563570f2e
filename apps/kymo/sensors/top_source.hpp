// Where kymo top's values come from: the sensors of this machine, or growing captures.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <kymo/sampler.hpp>

#include "apps/kymo/sensors/top_screen.hpp"
#include "apps/kymo/shared/warnings.hpp"

namespace kymo::command {

class TopSource {
 public:
  TopSource() = default;
  TopSource(const TopSource&) = delete;
  TopSource& operator=(const TopSource&) = delete;
  virtual ~TopSource() = default;
  /// Takes new values.
  virtual void update() = 0;
  /// What there is by now. Valid until the next update().
  [[nodiscard]] virtual TopData data() const = 0;
  /// What of the captures is not read. Compares every block with its checksum.
  [[nodiscard]] virtual Warnings unread() const { return {}; }
};

/// The sensors of this machine, read by this process, and its processes. Sensors of process trees are left out unless
/// the options name them: the tree would be kymo's own.
[[nodiscard]] std::unique_ptr<TopSource> make_machine_source(SensorOptions options);

/// Captures, followed while they grow.
[[nodiscard]] std::unique_ptr<TopSource> make_capture_source(const std::vector<std::string>& paths);

}  // namespace kymo::command
