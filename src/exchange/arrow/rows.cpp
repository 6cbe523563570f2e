#include "exchange/arrow/rows.hpp"

#include <algorithm>
#include <utility>

#include "base/text/pattern.hpp"
#include "timeline/source.hpp"

namespace kymo::exchange {

ArrowChoice::ArrowChoice(const Timeline& timeline, ArrowQuery query)
    : timeline_(timeline),
      query_(std::move(query)),
      takes_all_processes_(query_.processes.empty()),
      captures_(timeline.capture_count(), query_.processes.empty()) {
  for (const TimelineProcess& process : timeline.processes()) {
    if (process.capture < captures_.size() && takes_process(process.declaration.id)) {
      captures_[process.capture] = true;
    }
  }
}

bool ArrowChoice::takes_listed_process(ProcessId id) const {
  return std::find(query_.processes.begin(), query_.processes.end(), id) != query_.processes.end();
}

bool ArrowChoice::takes_block(std::size_t capture, std::size_t block) const {
  if (capture >= captures_.size() || !captures_[capture]) {
    return false;
  }
  return query_.blocks.empty() || std::any_of(query_.blocks.begin(), query_.blocks.end(), [&](const BlockRange& range) {
           return range.capture == capture && block >= range.first && block < range.end;
         });
}

bool ArrowChoice::fits_any(const std::vector<std::string>& patterns, std::string_view text) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [text](const std::string& pattern) {
           return base::fits_pattern(pattern, text);
         });
}

BatchCursor ArrowChoice::cursor(BatchParts parts) const {
  return BatchCursor(timeline_, query_.range, parts,
                     [this](std::size_t capture, std::size_t block) { return takes_block(capture, block); });
}

std::size_t ArrowChoice::count_begun(std::size_t capture) const {
  const timeline::Source& source = *timeline::sources_of(timeline_)[capture];
  std::size_t count = source.block_count();
  while (count > 0 && source.start_ns(count - 1) >= query_.range.end_ns) {
    --count;
  }
  return count;
}

BatchCursor ArrowChoice::cursor_without_gaps(BatchParts parts) const {
  std::vector<std::pair<std::size_t, std::size_t>> stretches;
  for (std::size_t capture = 0; capture < timeline_.capture_count(); ++capture) {
    const timeline::Source& source = *timeline::sources_of(timeline_)[capture];
    std::size_t first = 0;
    while (first < source.block_count() && source.end_ns(first) < query_.range.start_ns) {
      ++first;
    }
    stretches.emplace_back(first, count_begun(capture));
  }
  return BatchCursor(
      timeline_, {}, parts, [this, stretches = std::move(stretches)](std::size_t capture, std::size_t block) {
        return block >= stretches[capture].first && block < stretches[capture].second && takes_block(capture, block);
      });
}

std::string labels_of(const MetricDeclaration& metric) {
  std::string text;
  for (const auto& [key, value] : metric.labels) {
    text.append(text.empty() ? "" : ", ").append(key).append("=").append(value);
  }
  return text;
}

ArrowProcesses::ArrowProcesses(const Timeline& timeline) {
  for (const TimelineProcess& process : timeline.processes()) {
    pids_.push_back(process.declaration.pid);
  }
  pids_.push_back(0);
  const auto& processes = timeline.processes();
  host_numbers_ =
      number_texts(processes, *hosts_, [](const TimelineProcess& process) { return process.declaration.host; });
  rank_numbers_ =
      number_texts(processes, *ranks_, [](const TimelineProcess& process) { return process.declaration.rank; });
  capture_numbers_ = number_texts(processes, *captures_, [&timeline](const TimelineProcess& process) {
    return process.capture < timeline.capture_count() ? timeline.capture(process.capture).path() : std::string();
  });
}

ArrowColumn ArrowProcesses::make_column(Column column) const {
  switch (column) {
    case Column::process:
      return {"process", "I"};
    case Column::pid:
      return {"pid", "L"};
    case Column::host:
      return {"host", "I", false, hosts_};
    case Column::rank:
      return {"rank", "I", false, ranks_};
    case Column::capture:
      break;
  }
  return {"capture", "I", false, captures_};
}

}  // namespace kymo::exchange
