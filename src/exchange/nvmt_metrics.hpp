// Which of a process's metrics are the columns of an NVMT trace.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/nvmetrics.hpp>
#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// What an import notes down where nanoseconds do not say the file's own times to the last bit: a metric with the label
/// tier=fast, medium or slow.
inline constexpr const char* nvmt_time_metric = "nvmt_time";
/// The source of metrics that were imported.
inline constexpr const char* nvmt_source = "nvmt";

/// The metrics of a power rail; 0: there is none.
struct NvmtRail {
  std::string name;
  MetricId voltage = 0;
  MetricId current = 0;
  MetricId power = 0;  ///< only of an imported trace, whose own figures they are
};

struct NvmtZone {
  std::string name;
  MetricId temperature = 0;
};

/// The metrics of a trace's columns; 0: there is none.
struct NvmtMetrics {
  MetricId gpu_util = 0;
  std::array<MetricId, nvmetrics::max_cpu_cores> cpu_util{};
  unsigned cores = 0;  ///< one more than the greatest number of a core, 16 at most
  MetricId cpu_aggregate = 0;
  MetricId memory_used = 0;
  MetricId memory_available = 0;
  MetricId emc_util = 0;
  std::vector<NvmtRail> rails;  ///< 8 at most
  std::vector<NvmtZone> zones;  ///< 16 at most
  MetricId fast_time = 0;
  MetricId medium_time = 0;
  MetricId slow_time = 0;
  std::vector<std::string> left_out;  ///< what the format has no room for, in words

  [[nodiscard]] std::vector<MetricId> fast() const;
  [[nodiscard]] std::vector<MetricId> medium() const;
  [[nodiscard]] std::vector<MetricId> slow() const;
  /// Whether the process sampled nothing of a trace.
  [[nodiscard]] bool empty() const { return fast().empty() && medium().empty() && slow().empty(); }
};

/// The fact of a process with this key; null where there is none.
[[nodiscard]] const std::string* find_info(const TimelineProcess& process, std::string_view key);

/// Looks through the metrics of a process, which stand in the order they were declared. Where its facts say which
/// cores, rails and zones there are (nvmt.cores, nvmt.rail.0, nvmt.zone.0, ...), these are the columns and no others.
[[nodiscard]] NvmtMetrics find_nvmt_metrics(const std::vector<MetricDeclaration>& metrics,
                                            const TimelineProcess& process);

}  // namespace kymo::exchange
