// The sensors of the recorded process tree, one file each.
#pragma once

#include <memory>

#include "sense/common/sensor.hpp"

namespace kymo::sense {

/// CPU time, resident memory, threads, processes and faults; fast.
[[nodiscard]] std::unique_ptr<Sensor> make_process_load_sensor(const SensorContext& context);
/// Context switches and I/O; medium.
[[nodiscard]] std::unique_ptr<Sensor> make_process_activity_sensor(const SensorContext& context);
/// Proportional memory; slow.
[[nodiscard]] std::unique_ptr<Sensor> make_process_memory_sensor(const SensorContext& context);

}  // namespace kymo::sense
