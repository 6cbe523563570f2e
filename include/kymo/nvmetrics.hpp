// NVMT version 1, the Jetson trace: the structs that its files are made of, and a recorder that writes one.
//
//     kymo::nvmetrics::Engine engine("run.nvmt", board);
//     engine.start();
//     engine.wait_for_warmup();
//     engine.sync();                                  // marks where a phase begins: 1, 2, 3, ...
//     engine.stop();                                  // now run.nvmt is there
//
// A file is [FileHeader][FastSample x N][MediumSample x M][SlowSample x S][SyncPoint x P]: little-endian, no padding.
// docs/nvmt.md tells how its columns and kymo's metrics go into each other. Engine is of component kymo::nvmetrics,
// write_trace() of kymo::analysis; the structs need neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <kymo/board.hpp>
#include <kymo/export.hpp>

namespace kymo::nvmetrics {

inline constexpr std::uint32_t magic = 0x4E564D54;
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t max_cpu_cores = 16;
inline constexpr std::size_t max_power_rails = 8;
inline constexpr std::size_t max_thermal_zones = 16;
/// Bytes of the fields for names, the NUL at the end included.
inline constexpr std::size_t board_name_bytes = 32;
inline constexpr std::size_t name_bytes = 24;

// The layout is the file's, and programs hand these structs to each other as they are.
// NOLINTBEGIN(modernize-avoid-c-arrays)
#pragma pack(push, 1)

struct FileHeader {
  std::uint32_t magic;
  std::uint32_t version;
  char board_name[board_name_bytes];
  std::uint8_t num_cpu_cores;
  std::uint8_t num_power_rails;
  std::uint8_t num_thermal_zones;
  std::uint8_t emc_available;  ///< 1 where emc_util is sampled
  std::uint32_t fast_hz;
  std::uint32_t medium_hz;
  std::uint32_t slow_hz;
  std::uint64_t num_fast_samples;
  std::uint64_t num_medium_samples;
  std::uint64_t num_slow_samples;
  std::uint64_t num_sync_points;
  char power_rail_names[max_power_rails][name_bytes];
  char thermal_zone_names[max_thermal_zones][name_bytes];
  std::uint8_t reserved[64];  ///< zero
};

struct FastSample {
  double time_s;                  ///< since the start
  std::uint16_t gpu_load;         ///< tenths of a percent, 0 to 1000
  float cpu_util[max_cpu_cores];  ///< percent
  float cpu_aggregate;            ///< percent
  std::uint64_t ram_used_kb;
  std::uint64_t ram_available_kb;
  float emc_util;  ///< percent; -1: not available
};

struct MediumSample {
  double time_s;
  std::uint32_t voltage_mv[max_power_rails];
  std::uint32_t current_ma[max_power_rails];
  float power_mw[max_power_rails];  ///< voltage_mv x current_ma / 1000
};

struct SlowSample {
  double time_s;
  float temp_c[max_thermal_zones];
};

struct SyncPoint {
  std::uint64_t sync_id;          ///< 1, 2, 3, ...
  std::uint64_t fast_sample_idx;  ///< of the first fast sample after it
};

#pragma pack(pop)
// NOLINTEND(modernize-avoid-c-arrays)

static_assert(sizeof(FileHeader) == 728 && std::is_trivially_copyable_v<FileHeader>);
static_assert(offsetof(FileHeader, magic) == 0);
static_assert(offsetof(FileHeader, version) == 4);
static_assert(offsetof(FileHeader, board_name) == 8);
static_assert(offsetof(FileHeader, num_cpu_cores) == 40);
static_assert(offsetof(FileHeader, num_power_rails) == 41);
static_assert(offsetof(FileHeader, num_thermal_zones) == 42);
static_assert(offsetof(FileHeader, emc_available) == 43);
static_assert(offsetof(FileHeader, fast_hz) == 44);
static_assert(offsetof(FileHeader, medium_hz) == 48);
static_assert(offsetof(FileHeader, slow_hz) == 52);
static_assert(offsetof(FileHeader, num_fast_samples) == 56);
static_assert(offsetof(FileHeader, num_medium_samples) == 64);
static_assert(offsetof(FileHeader, num_slow_samples) == 72);
static_assert(offsetof(FileHeader, num_sync_points) == 80);
static_assert(offsetof(FileHeader, power_rail_names) == 88);
static_assert(offsetof(FileHeader, thermal_zone_names) == 280);
static_assert(offsetof(FileHeader, reserved) == 664);

static_assert(sizeof(FastSample) == 98 && std::is_trivially_copyable_v<FastSample>);
static_assert(offsetof(FastSample, time_s) == 0);
static_assert(offsetof(FastSample, gpu_load) == 8);
static_assert(offsetof(FastSample, cpu_util) == 10);
static_assert(offsetof(FastSample, cpu_aggregate) == 74);
static_assert(offsetof(FastSample, ram_used_kb) == 78);
static_assert(offsetof(FastSample, ram_available_kb) == 86);
static_assert(offsetof(FastSample, emc_util) == 94);

static_assert(sizeof(MediumSample) == 104 && std::is_trivially_copyable_v<MediumSample>);
static_assert(offsetof(MediumSample, time_s) == 0);
static_assert(offsetof(MediumSample, voltage_mv) == 8);
static_assert(offsetof(MediumSample, current_ma) == 40);
static_assert(offsetof(MediumSample, power_mw) == 72);

static_assert(sizeof(SlowSample) == 72 && std::is_trivially_copyable_v<SlowSample>);
static_assert(offsetof(SlowSample, time_s) == 0);
static_assert(offsetof(SlowSample, temp_c) == 8);

static_assert(sizeof(SyncPoint) == 16 && std::is_trivially_copyable_v<SyncPoint>);
static_assert(offsetof(SyncPoint, sync_id) == 0);
static_assert(offsetof(SyncPoint, fast_sample_idx) == 8);

/// Writes what a capture holds of its machine as a trace, which takes the place of what `output_path` held before when
/// it is whole. Throws a std::runtime_error where the capture cannot be read, holds nothing of a machine or several
/// machines, or the trace cannot be written. About a second for 15 minutes at 1 kHz.
KYMO_API void write_trace(const std::string& capture_path, const std::string& output_path);

/// Rates in hertz, 1 to 1000; 0 turns the medium or the slow tier off.
struct EngineConfig {
  std::uint32_t fast_hz = 1000;
  std::uint32_t medium_hz = 100;
  std::uint32_t slow_hz = 10;
  std::vector<int> cpus = {};  ///< where the sampling threads may run; empty: anywhere
  std::string root = "/";      ///< where /proc lies; the board's paths are taken as they are
  bool keeps_capture = true;   ///< leave the capture beside the trace once the trace is written
};

/// Records a trace. While it runs it writes a capture beside the trace, `output_path` + ".kymo" (with a number where
/// that exists): after a kill -9, `kymo recover --to nvmt` of it writes the trace with everything but the last 100 ms.
/// What else the program records in the meantime is in the capture too.
///
/// Cores beyond 16, rails beyond 8 and zones beyond 16 are left out. Thread safe.
class KYMO_API Engine {
 public:
  /// Checks the rates: std::invalid_argument where one is out of range or a CPU is not there.
  Engine(const std::string& output_path, const BoardConfig& board, const EngineConfig& config = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Stops. What goes wrong with that is said on stderr.
  ~Engine();

  /// Begins to record. Throws std::runtime_error where it runs already, or a capture cannot be started: a process
  /// writes one at a time. May start again after a stop; the trace then replaces the one before.
  void start();
  /// Ends the recording and writes the trace. Does nothing where it does not run. Throws what write_trace() throws; the
  /// capture is there nevertheless.
  void stop();
  /// Waits until ten fast samples were taken, ten seconds at most; whether they were.
  bool wait_for_warmup() const;
  /// Marks that a phase begins; the mark's number: 1, 2, 3, ... from each start. 0 while it does not run.
  std::uint64_t sync();

  /// Fast samples since the last start, those of the warm-up included.
  [[nodiscard]] std::uint64_t sample_count() const;
  [[nodiscard]] bool is_running() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo::nvmetrics
