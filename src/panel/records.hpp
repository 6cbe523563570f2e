// Metrics that a program keeps itself, as the panel's data.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <kymo/panel.hpp>

#include "panel/block_provider.hpp"

namespace kymo::panel {

struct Records {
  std::vector<MetricDeclaration> metrics;
  std::shared_ptr<const Detail> samples;
};

/// The last value of each column stands at the last tick, the one before at the tick before; values without a tick are
/// left out.
[[nodiscard]] Records make_records(const std::vector<MetricColumn>& columns, const std::deque<std::int64_t>& ticks_ns);

}  // namespace kymo::panel
