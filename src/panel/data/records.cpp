// Metrics that a program keeps itself.
#include "panel/data/records.hpp"

#include <algorithm>

#include "panel/data/live_window.hpp"

namespace kymo::panel {

Records make_records(const std::vector<MetricColumn>& columns, const std::deque<std::int64_t>& ticks_ns) {
  Records records;
  EventBatch batch;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const MetricColumn& column = columns[i];
    MetricDeclaration& metric = records.metrics.emplace_back();
    metric.id = LiveBlocks::record_metric(i);
    metric.name = column.name;
    metric.unit = column.unit;
    metric.step = column.is_integer ? 1 : 0;
    SampleRun& run = batch.samples.emplace_back();
    run.metric = metric.id;
    const std::size_t count = std::min(column.values.size(), ticks_ns.size());
    run.times_ns.assign(ticks_ns.end() - static_cast<std::ptrdiff_t>(count), ticks_ns.end());
    run.values.assign(column.values.end() - static_cast<std::ptrdiff_t>(count), column.values.end());
  }
  if (!ticks_ns.empty()) {
    batch.start_ns = ticks_ns.front();
    batch.end_ns = ticks_ns.back();
  }
  records.samples = std::make_shared<Detail>(timeline::make_detail(batch, false));
  return records;
}

}  // namespace kymo::panel
