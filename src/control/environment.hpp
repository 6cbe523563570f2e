// The KYMO_* environment variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/sampling.hpp"

namespace kymo::control {

/// How much a flight recorder keeps. Zero: no limit of that kind.
struct KeepBounds {
  std::chrono::nanoseconds duration{0};
  std::uint64_t bytes = 0;
};

/// The settings in the variables. For an invalid value kymo warns on stderr and keeps the default.
struct Environment {
  std::optional<std::string> record_path;                   ///< KYMO_RECORD
  std::optional<std::string> trace_path;                    ///< KYMO_TRACE
  bool wants_scopes = true;                                 ///< KYMO_SCOPES
  std::string sites;                                        ///< KYMO_SITES; empty: all
  std::uint64_t scope_every = 1;                            ///< KYMO_SCOPE_EVERY
  std::uint64_t scope_max_frames = 0;                       ///< KYMO_SCOPE_MAX_FRAMES
  std::optional<KeepBounds> keep;                           ///< KYMO_KEEP
  std::uint64_t max_bytes = 0;                              ///< KYMO_MAX_SIZE
  std::chrono::nanoseconds sync_period{0};                  ///< KYMO_SYNC
  std::uint64_t pool_bytes = 0;                             ///< KYMO_BUFFER
  std::vector<std::pair<std::string, std::string>> labels;  ///< KYMO_LABELS
  SampleRates sample_hz = default_sample_rates;             ///< KYMO_SAMPLE
  bool wants_samples = false;                               ///< KYMO_SAMPLE is set
  std::string spool_holder;  ///< KYMO_SPOOL_HOLDER: set by `kymo record` for the processes that it starts

  /// Whether anything has to be recorded.
  [[nodiscard]] bool asks_for_recording() const { return record_path || trace_path || keep; }
};

/// "100,10,1": hertz of the fast, the medium and the slow tier, each 0.1 to 1000 or 0 for off. Rates omitted at the end
/// keep their default, but a single "0" turns all off.
[[nodiscard]] std::optional<SampleRates> parse_sample_rates(std::string_view text);

/// "render*,-*log*": the patterns of a record::SiteFilter, unchanged. Nothing if one of them is empty.
[[nodiscard]] std::optional<std::string> parse_sites(std::string_view text);

/// Reads the variables with secure_getenv.
[[nodiscard]] Environment read_environment();

/// "30s", "500ms", "2m", "1h", "250us"; a bare number is seconds. Nothing if it is invalid or over 292 years.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// "64MB", "16MiB", "500k", "1G", "2TB": powers of 1000 or, with an i, of 1024; a bare number is bytes. Nothing if it
/// is less than a byte and not 0.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// "30s,64MB": one or both, in any order.
[[nodiscard]] std::optional<KeepBounds> parse_keep(std::string_view text);

/// "key=value,...". Nothing if a pair has no '=' or no key.
[[nodiscard]] std::optional<std::vector<std::pair<std::string, std::string>>> parse_labels(std::string_view text);

}  // namespace kymo::control
