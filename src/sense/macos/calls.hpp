// Queries to macOS as tables of functions, without its headers, so that sensors can be tested with recorded answers.
// The ..._calls.cpp files fill them in.
//
// Each function returns an empty text, or why there is no answer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sense/common/sensor.hpp"

namespace kymo::sense {

/// Counters of one core, in ticks of 10 ms. They wrap around.
struct MachCoreTicks {
  std::uint32_t user = 0;
  std::uint32_t system = 0;
  std::uint32_t idle = 0;
  std::uint32_t nice = 0;
};

/// The host's memory, in pages unless stated otherwise.
struct MachMemory {
  std::uint64_t page_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t swap_used_bytes = 0;
  std::uint64_t anonymous = 0;  ///< of programs, including purgeable pages
  std::uint64_t purgeable = 0;
  std::uint64_t file_backed = 0;
  std::uint64_t wired = 0;
  std::uint64_t compressor = 0;  ///< pages that hold compressed pages
  std::uint64_t faults = 0;      ///< since boot, like those below
  std::uint64_t page_ins = 0;
  std::uint64_t swap_ins = 0;
  std::uint64_t swap_outs = 0;
};

/// Resources used by one process.
struct MachProcess {
  std::uint64_t user_time = 0;  ///< in units of mach_absolute_time()
  std::uint64_t system_time = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t footprint_bytes = 0;  ///< the memory that the system charges it for
  std::uint64_t threads = 0;
  std::uint64_t page_ins = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};

/// The kernel: host_processor_info, host_statistics64, proc_pid_rusage.
struct MachCalls {
  std::function<std::string(std::vector<MachCoreTicks>& cores)> core_ticks;
  std::function<std::string(MachMemory& memory)> memory;
  std::function<std::string(std::uint64_t process, MachProcess& usage)> process;
  /// Nanoseconds in a unit of mach_absolute_time(); 0: unknown.
  double time_unit_ns = 0;
};

/// The statistics that a GPU's driver publishes in the I/O registry.
struct AcceleratorStatistics {
  std::string model;
  std::vector<std::pair<std::string, std::int64_t>> numbers;
};

/// IOKit: the services of class IOAccelerator and their PerformanceStatistics.
struct AcceleratorCalls {
  std::function<std::string(std::vector<AcceleratorStatistics>& gpus)> statistics;
};

/// An energy counter of IOReport.
struct EnergyChannel {
  std::string name;
  std::string unit;  ///< "mJ", "uJ", "nJ", as the channel reports
  std::int64_t value = 0;
};

/// IOReport: the channels of the group "Energy Model".
struct EnergyReportCalls {
  std::function<std::string(std::vector<EnergyChannel>& channels)> sample;
};

// Sensors that use these tables.
void make_mach_cpu_sensors(const MachCalls& calls, SensorList& list);
void make_mach_memory_sensors(const MachCalls& calls, SensorList& list);
void make_mach_process_sensors(const MachCalls& calls, std::uint64_t process, SensorList& list);
void make_accelerator_sensors(const AcceleratorCalls& calls, SensorList& list);
void make_energy_report_sensors(const EnergyReportCalls& calls, SensorList& list);

// The tables of this system. Libraries are loaded by the first call.
[[nodiscard]] MachCalls mach_calls();
[[nodiscard]] AcceleratorCalls accelerator_calls();
[[nodiscard]] EnergyReportCalls energy_report_calls();

}  // namespace kymo::sense
