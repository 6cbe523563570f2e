// Maps a process's metrics to the columns of an NVMT trace.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/nvmetrics.hpp>
#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// The metric that an import writes if nanoseconds do not reproduce the file's times to the last bit. Its label is
/// tier=fast, medium or slow.
inline constexpr const char* nvmt_time_metric = "nvmt_time";
/// The source of imported metrics.
inline constexpr const char* nvmt_source = "nvmt";
/// The label of all metrics of a recorder that shares its process's capture with others: its number.
inline constexpr std::string_view nvmt_recorder_label = "recorder";
/// The sync points of such a recorder: numbers from 1.
inline constexpr std::string_view nvmt_sync_metric = "nvmt_sync";

/// The metrics of a power rail; 0: absent.
struct NvmtRail {
  std::string name;
  MetricId voltage{};
  MetricId current{};
  MetricId power{};  ///< only in imported traces, which state it themselves
};

struct NvmtZone {
  std::string name;
  MetricId temperature{};
};

/// The metrics of a trace's columns; 0: absent.
struct NvmtMetrics {
  MetricId gpu_util;
  std::array<MetricId, nvmetrics::max_cpu_cores> cpu_util{};
  unsigned cores = 0;         ///< 16 at most
  unsigned stated_cores = 0;  ///< by the facts; 0: unstated
  MetricId cpu_aggregate;
  MetricId memory_used;
  MetricId memory_available;
  MetricId emc_util;
  std::vector<NvmtRail> rails;  ///< 8 at most
  std::vector<NvmtZone> zones;  ///< 16 at most
  MetricId fast_time;
  MetricId medium_time;
  MetricId slow_time;
  MetricId sync;                      ///< of a recorder with a number
  unsigned recorder = 0;              ///< its number; 0: it has none
  std::vector<std::string> left_out;  ///< in words: what does not fit the format

  [[nodiscard]] std::vector<MetricId> fast() const;
  [[nodiscard]] std::vector<MetricId> medium() const;
  [[nodiscard]] std::vector<MetricId> slow() const;
  /// Whether the process sampled nothing that a trace holds.
  [[nodiscard]] bool empty() const { return fast().empty() && medium().empty() && slow().empty(); }
};

/// The fact of a process with this key; null if absent.
[[nodiscard]] const std::string* find_info(const TimelineProcess& process, std::string_view key);

/// A recorder's fact: `name` of the process, or nvmt.N.key of the recorder N.
[[nodiscard]] const std::string* find_fact(const TimelineProcess& process, unsigned recorder, const std::string& name,
                                           const std::string& key);

/// Searches the metrics of a process, in declaration order: those of one of its recorders. Recorder 0 is the one
/// without a number or, if there is none, the first that has one. If its facts list rails and zones (nvmt.rail.0,
/// nvmt.zone.0, ...), exactly these become columns. Of the cores, the first become columns, as many as nvmt.cores says
/// at most.
[[nodiscard]] NvmtMetrics find_nvmt_metrics(const std::vector<MetricDeclaration>& metrics,
                                            const TimelineProcess& process, unsigned recorder = 0);

/// Leaves only cores that `is_sampled`, in order, so that cores which were never online have no columns. If none is,
/// the stated number of columns remains.
void keep_cores(NvmtMetrics& metrics, const std::function<bool(MetricId)>& is_sampled);

}  // namespace kymo::exchange
