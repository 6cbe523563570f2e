#include "sense/process/thread_faults.hpp"

#include "sense/common/sensor.hpp"
#include "sense/process/process_tree.hpp"

namespace kymo::sense {

namespace {

/// The value of a line of a status file; empty if there is none.
std::string_view line_of(std::string_view status, std::string_view key) {
  const std::size_t start = status.substr(0, key.size()) == key ? 0 : status.find('\n' + std::string(key));
  if (start == std::string_view::npos) {
    return {};
  }
  status.remove_prefix(start + key.size() + (start == 0 ? 0 : 1));
  return status.substr(0, status.find('\n'));
}

}  // namespace

std::optional<FaultCounts> parse_faults(std::string_view stat) {
  const std::optional<ProcessStat> parsed = parse_process_stat(stat);
  return parsed ? std::optional(FaultCounts{parsed->minor_faults, parsed->major_faults}) : std::nullopt;
}

bool is_running(std::string_view status) {
  return line_of(status, "State:\t").substr(0, 1) == "R";
}

MetricDeclaration describe_faults(const char* name, std::string_view thread, std::uint64_t pid,
                                  std::string_view status) {
  MetricDeclaration metric = describe(name, "", "/proc/PID/task/TID/stat", MetricKind::counter, 1);
  metric.labels = {
      {"thread", std::string(thread)}, {"pid", std::to_string(pid)}, {"name", std::string(line_of(status, "Name:\t"))}};
  return metric;
}

}  // namespace kymo::sense
