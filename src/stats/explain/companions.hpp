// Metrics that go along with slow instances.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/timeline.hpp>

#include "stats/explain/causes.hpp"
#include "stats/paths/instance_values.hpp"

namespace kymo::stats {

/// The values that metrics have in the instances. Timeline and instances must outlive it.
class InstanceMetrics {
 public:
  /// One pass over the samples.
  InstanceMetrics(const Timeline& timeline, const LookedAt& looked_at);

  /// The metrics whose values differ most surely between slow and usual instances, at most `most`, by a rank test
  /// corrected for the number of metrics.
  [[nodiscard]] std::vector<Companion> companions(std::size_t most) const;

  /// Bytes that the program moved, and those of the disk with most of them, as far as there are surely more of them in
  /// the slow instances that have the cause than in usual ones: the program's own count, its processes' and a disk's.
  [[nodiscard]] std::vector<Companion> bytes_with(const Cause& cause) const;

  /// A sentence if the host surely took more of the machine's CPU time in slow instances; else empty.
  [[nodiscard]] std::string describe_steal() const;

 private:
  /// Those chosen against the usual ones; none if too few of either have values.
  [[nodiscard]] std::optional<Companion> compare(MetricId metric, const std::vector<bool>& is_chosen) const;

  const Timeline& timeline_;
  const LookedAt& looked_at_;
  std::map<MetricId, MetricValues> values_;
};

/// "; goes along: disk_read disk=sda (310 MB/s against 0 B/s)". Empty without any.
[[nodiscard]] std::string describe_bytes(const Timeline& timeline, const std::vector<Companion>& bytes);

}  // namespace kymo::stats
