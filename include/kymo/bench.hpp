// Benchmark result files: records, their CSV form, and fingerprints of the run's configuration.
//
//     kymo::BenchConfig config;
//     config.model_commit = "abc1234";
//     const std::string fingerprint = kymo::config_hash(config);
//     std::vector<kymo::LatencyRecord> latencies = ...;
//     kymo::write_csv("latency.csv", latencies);
//     latencies = kymo::read_csv<kymo::LatencyRecord>("latency.csv");
//
// A CSV file has a header line and one line per record, each ended by "\n". A field is quoted (RFC 4180) only if it
// contains a comma, a quote or a line break. Numbers are written in the shortest form that reads back to the same
// value, in any locale. A missing number is NaN in a record and an empty field in a file.
//
// Component kymo::bench. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/memory_tracker.hpp>
#include <kymo/power.hpp>

namespace kymo {

inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// Latency of one sample. Columns: sample_id,wall_time_us,kernel_time_us,seq_len
struct LatencyRecord {
  std::uint64_t sample_id = 0;
  double wall_time_us = 0;
  double kernel_time_us = 0;
  std::uint64_t seq_len = 0;
};

/// One sample of the baseline. Columns: sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j
struct BaselineRecord {
  std::uint64_t sample_id = 0;
  std::uint64_t seq_len = 0;
  double wall_time_us = 0;
  std::uint64_t peak_mem_bytes = 0;
  double energy_j = no_value;
};

/// One grid setting compared with the baseline. Reductions are fractions: 0.15 means 15 % less. Columns:
/// setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy
struct ResultRow {
  std::string setting;
  double coherence_delta = no_value;
  double kv_cache_reduction = no_value;
  double peak_mem_reduction = no_value;
  double energy_reduction = no_value;
  double p95_latency_us = no_value;
  double accuracy = no_value;
};

/// Invalid content in a file. what() names the file, the line and the reason.
class BenchFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes a header line and the records. The file is replaced atomically: `path` holds either its former content or the
/// complete new file. Throws std::runtime_error with file and reason if it cannot be written.
///
/// Columns of a MemorySnapshot: timestamp_us,peak_rss_bytes,kv_cache_bytes,activation_bytes,temp_buffer_bytes; of a
/// PowerSample: time_s,watts
KYMO_API void write_csv(const std::string& path, const std::vector<LatencyRecord>& records);
KYMO_API void write_csv(const std::string& path, const std::vector<MemorySnapshot>& records);
KYMO_API void write_csv(const std::string& path, const std::vector<BaselineRecord>& records);
KYMO_API void write_csv(const std::string& path, const std::vector<ResultRow>& records);
KYMO_API void write_csv(const std::string& path, const std::vector<PowerSample>& records);

/// Returns the text that write_csv writes.
[[nodiscard]] KYMO_API std::string to_csv(const std::vector<LatencyRecord>& records);
[[nodiscard]] KYMO_API std::string to_csv(const std::vector<MemorySnapshot>& records);
[[nodiscard]] KYMO_API std::string to_csv(const std::vector<BaselineRecord>& records);
[[nodiscard]] KYMO_API std::string to_csv(const std::vector<ResultRow>& records);
[[nodiscard]] KYMO_API std::string to_csv(const std::vector<PowerSample>& records);

/// Reads a file of records. The header must match exactly; line ends may be "\r\n". Memory is bounded by the file's
/// size. Throws BenchFileError with file and line for any other content, std::runtime_error if the file cannot be read.
/// `Record` is one of the types above. A MemorySnapshot's last two members are not in the file and become 0.
template <typename Record>
[[nodiscard]] std::vector<Record> read_csv(const std::string& path);
/// Parses CSV text. `name` appears in error messages.
template <typename Record>
[[nodiscard]] std::vector<Record> parse_csv(std::string_view text, const std::string& name = "CSV");

extern template KYMO_API std::vector<LatencyRecord> read_csv(const std::string& path);
extern template KYMO_API std::vector<MemorySnapshot> read_csv(const std::string& path);
extern template KYMO_API std::vector<BaselineRecord> read_csv(const std::string& path);
extern template KYMO_API std::vector<ResultRow> read_csv(const std::string& path);
extern template KYMO_API std::vector<PowerSample> read_csv(const std::string& path);
extern template KYMO_API std::vector<LatencyRecord> parse_csv(std::string_view text, const std::string& name);
extern template KYMO_API std::vector<MemorySnapshot> parse_csv(std::string_view text, const std::string& name);
extern template KYMO_API std::vector<BaselineRecord> parse_csv(std::string_view text, const std::string& name);
extern template KYMO_API std::vector<ResultRow> parse_csv(std::string_view text, const std::string& name);
extern template KYMO_API std::vector<PowerSample> parse_csv(std::string_view text, const std::string& name);

/// Writes a report as a compact JSON object with its members' names: {"energy_j":1.5,...}. The memory report begins
/// with label, peak_rss, mean_rss, kv_cache_total and activation_total. NaN and infinities become null.
[[nodiscard]] KYMO_API std::string to_json(const EnergyReport& report);
[[nodiscard]] KYMO_API std::string to_json(const MemoryReport& report);

/// An ordered set of parameters with a fingerprint: the SHA-256 of the compact JSON {"name":value,...} in the order of
/// the add() calls. Floats are written in the shortest form for their width. Integral values keep ".0". Values below
/// 1e-5 and from 1e16 on (float: 1e13) have an exponent: "1e-6", "1.5e20".
///
/// Throws std::invalid_argument for a duplicate name, text that is not UTF-8, and a float that is not finite. JSON
/// cannot represent these, and a fingerprint must cover every parameter.
class KYMO_API ParameterSet {
 public:
  ParameterSet& add(std::string_view name, std::string_view value);
  ParameterSet& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  ParameterSet& add(std::string_view name, bool value);
  ParameterSet& add(std::string_view name, float value);
  ParameterSet& add(std::string_view name, double value);
  ParameterSet& add(std::string_view name, int value) { return add_integer(name, value); }
  ParameterSet& add(std::string_view name, long value) { return add_integer(name, value); }
  ParameterSet& add(std::string_view name, long long value) { return add_integer(name, value); }
  ParameterSet& add(std::string_view name, unsigned value) { return add_unsigned(name, value); }
  ParameterSet& add(std::string_view name, unsigned long value) { return add_unsigned(name, value); }
  ParameterSet& add(std::string_view name, unsigned long long value) { return add_unsigned(name, value); }

  [[nodiscard]] std::string to_json() const;
  /// 64 lower-case hex digits.
  [[nodiscard]] std::string fingerprint() const;

 private:
  ParameterSet& add_integer(std::string_view name, std::int64_t value);
  ParameterSet& add_unsigned(std::string_view name, std::uint64_t value);
  void add_text(std::string_view name, std::string_view value_json);

  std::vector<std::string> names_;
  std::string members_;
};

/// Configuration of a gated-attention run.
struct BenchConfig {
  std::string model_commit;
  std::string weights_hash;
  float lambda = 0.5F;
  std::uint32_t tau = 0;
  float eps = 0.01F;
  std::string compiler_flags;
};

/// {"model_commit":...,"weights_hash":...,"lambda":...,"tau":...,"eps":...,"compiler_flags":...}. Throws like
/// ParameterSet.
[[nodiscard]] KYMO_API std::string to_json(const BenchConfig& config);
/// SHA-256 of to_json(config): 64 lower-case hex digits.
[[nodiscard]] KYMO_API std::string config_hash(const BenchConfig& config);

}  // namespace kymo
