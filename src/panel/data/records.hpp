// Metrics that a program keeps itself, as data for the panel.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <kymo/panel.hpp>

#include "panel/data/block_provider.hpp"

namespace kymo::panel {

struct Records {
  std::vector<MetricDeclaration> metrics;
  std::shared_ptr<const Detail> samples;
};

/// The last value of each column belongs to the last tick, the one before to the previous tick. Values without a tick
/// are left out.
[[nodiscard]] Records make_records(const std::vector<MetricColumn>& columns, const std::deque<std::int64_t>& ticks_ns);

}  // namespace kymo::panel
