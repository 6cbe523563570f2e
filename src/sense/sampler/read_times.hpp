// What reading a sensor costs: the time it takes, and how much of that is computed rather than waited.
#pragma once

#include <cstdint>
#include <vector>

#include "sense/common/sensor.hpp"

namespace kymo::sense {

/// One read. A driver that answers late costs time, but leaves the core to others meanwhile.
struct ReadCost {
  double wall_ns = 0;
  double cpu_ns = 0;  ///< CPU time of the reading thread, in the kernel too
};

/// The highest sensible rate, in hertz: 1, 2 or 5 times a power of ten, at most 1000. Reads compute for at most a
/// twentieth of a core, last for at most half of the time between two of them, since the sensors of a tier share a
/// thread, and are no more frequent than the source's renewals (0: unknown).
[[nodiscard]] double fastest_sensible_hz(const ReadCost& cost, std::int64_t renewal_ns);

/// Reads a sensor and keeps the times. CLOCK_THREAD_CPUTIME_ID has the kernel's resolution, 1 ns on Linux.
class ReadTimes {
 public:
  void read(Sensor& sensor);
  /// The medians so far, each of its own; zeros if there was no read.
  [[nodiscard]] ReadCost median() const;

 private:
  std::vector<double> wall_ns_;
  std::vector<double> cpu_ns_;
};

}  // namespace kymo::sense
