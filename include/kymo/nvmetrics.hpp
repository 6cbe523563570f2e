// NVMT version 1, the Jetson trace: the structs of its files, and a recorder that writes one.
//
//     kymo::nvmetrics::Engine engine("run.nvmt", board);
//     engine.start();
//     engine.wait_for_warmup();
//     engine.sync();                                  // marks the start of a phase: 1, 2, 3, ...
//     engine.stop();                                  // run.nvmt is complete
//
// A file is a FileHeader, then all FastSamples, MediumSamples, SlowSamples and SyncPoints: little-endian, no padding.
// docs/nvmt.md describes the mapping between its columns and kymo's metrics. Engine is part of component
// kymo::nvmetrics, write_trace() of kymo::analysis; the structs need neither.
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
/// Sizes of the name fields in bytes, including the terminating NUL.
inline constexpr std::size_t board_name_bytes = 32;
inline constexpr std::size_t name_bytes = 24;

// The layout is that of the file; programs also exchange these structs in memory.
// NOLINTBEGIN(modernize-avoid-c-arrays)
#pragma pack(push, 1)

/// The first bytes of a file.
struct FileHeader {
  std::uint32_t magic;
  std::uint32_t version;
  char board_name[board_name_bytes];
  std::uint8_t num_cpu_cores;
  std::uint8_t num_power_rails;
  std::uint8_t num_thermal_zones;
  std::uint8_t emc_available;  ///< 1 if emc_util is sampled
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

/// A sample of the fast tier.
struct FastSample {
  double time_s;                  ///< since the start
  std::uint16_t gpu_load;         ///< tenths of a percent, 0 to 1000
  float cpu_util[max_cpu_cores];  ///< percent
  float cpu_aggregate;            ///< percent
  std::uint64_t ram_used_kb;
  std::uint64_t ram_available_kb;
  float emc_util;  ///< percent; -1: not available
};

/// A sample of the medium tier.
struct MediumSample {
  double time_s;
  std::uint32_t voltage_mv[max_power_rails];
  std::uint32_t current_ma[max_power_rails];
  float power_mw[max_power_rails];  ///< voltage_mv x current_ma / 1000
};

/// A sample of the slow tier.
struct SlowSample {
  double time_s;
  float temp_c[max_thermal_zones];
};

/// A numbered mark between fast samples.
struct SyncPoint {
  std::uint64_t sync_id;          ///< 1, 2, 3, ...
  std::uint64_t fast_sample_idx;  ///< index of the first fast sample after it
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

/// Exports a capture's machine metrics as an NVMT trace. The complete trace replaces a former file at `output_path`.
/// Throws std::runtime_error if the capture cannot be read, contains metrics of no machine or of several machines, or
/// the trace cannot be written. About a second for 15 minutes at 1 kHz. `recorder` is the number of one of several
/// recorders of a process; 0: the one that started the capture, else the first.
KYMO_API void write_trace(const std::string& capture_path, const std::string& output_path, unsigned recorder = 0);

/// Rates in hertz, 1 to 1000; 0 turns off the medium or slow tier.
struct EngineConfig {
  std::uint32_t fast_hz = 1000;
  std::uint32_t medium_hz = 100;
  std::uint32_t slow_hz = 10;
  std::vector<int> cpus = {};  ///< CPUs for the sampling threads; empty: any
  std::string root = "/";      ///< root directory of /proc; the board's paths are used unchanged
  bool keeps_capture = true;   ///< keep the capture next to the trace after that is written
};

/// Records a trace. While running, it writes a capture next to the trace: `output_path` + ".kymo", with a number if
/// that exists. After a kill -9, `kymo recover --to nvmt` converts this capture to a trace that lacks only the last 100
/// ms. The capture also contains everything else that the program records in the meantime.
///
/// A process writes one capture. An engine that starts while there is one, of another engine or of KYMO_RECORD, records
/// into that and has no capture of its own; the capture then ends with the last engine. Each engine has its own rates,
/// marks and trace. The columns of CPU load are those of the cores that were online, in their order. Thread-safe.
class KYMO_API Engine {
 public:
  /// Checks the arguments. Throws std::invalid_argument if a rate is out of range, a CPU does not exist, or the board
  /// has no cores or more cores, rails or zones than a trace has room for.
  Engine(const std::string& output_path, const BoardConfig& board, const EngineConfig& config = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Stops. Errors are reported on stderr.
  ~Engine();

  /// Starts recording. Throws std::runtime_error if it is already running, or if a capture cannot be started. May be
  /// called again after stop(); the new trace then replaces the former one.
  void start();
  /// Ends the recording and writes the trace. A mark that was just set gets a sample first. No effect if not running.
  /// Throws what write_trace() throws; the capture is kept in that case.
  void stop();
  /// Waits for ten fast samples, and until every column that can be read has its first value: CPU load takes a tenth of
  /// a second. At most ten seconds. Returns true if all that came.
  bool wait_for_warmup() const;
  /// Marks the start of a phase. Returns the mark's number: 1, 2, 3, ... from each start, or 0 if not running.
  std::uint64_t sync();

  /// Fast samples since the last start, including the warm-up.
  [[nodiscard]] std::uint64_t sample_count() const;
  [[nodiscard]] bool is_running() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo::nvmetrics
