// Provides the running program's data to the panel.
#include "panel/data/live_window.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <unistd.h>

#include "base/append.hpp"
#include "base/event_lists.hpp"
#include "base/system/clock.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "timeline/span_builder.hpp"

namespace kymo::panel {

namespace {

/// The first number of a metric that the program keeps itself; those that it records have lower ones.
constexpr std::uint32_t first_column = 0x4000'0000U;

template <typename T, typename Allocator>
std::size_t bytes_of(const std::vector<T, Allocator>& values) {
  return values.size() * sizeof(T);
}

std::size_t bytes_of(const EventBatch& batch) {
  std::size_t bytes = sizeof batch + batch.text.size();
  base::for_each_plain_list([&bytes](const auto& list) { bytes += bytes_of(list); }, batch);
  for (const ScopeRun& run : batch.runs) {
    bytes += sizeof run + bytes_of(run.events) + bytes_of(run.arguments) + bytes_of(run.open_at_start);
  }
  for (const SampleRun& run : batch.samples) {
    bytes += sizeof run + bytes_of(run.times_ns) + bytes_of(run.values) + bytes_of(run.flags);
  }
  for (const StateRun& run : batch.states) {
    bytes += sizeof run + bytes_of(run.states);
  }
  for (const Message& message : batch.messages) {
    bytes += message.text.size();
  }
  return bytes;
}

}  // namespace

void LiveWindow::write(const EventBatch& batch) {
  auto copy = std::make_shared<EventBatch>();
  copy->start_ns = batch.start_ns;
  copy->end_ns = batch.end_ns;
  base::for_each_list([](auto& to, const auto& from) { to = from; }, *copy, batch);
  copy->text = batch.text;
  const std::size_t bytes = bytes_of(*copy);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!stream_ && !batch.declarations.frame_streams.empty()) {
    stream_ = batch.declarations.frame_streams.front().id;
  }
  const auto frames =
      static_cast<std::size_t>(std::count_if(batch.frame_marks.begin(), batch.frame_marks.end(),
                                             [this](const FrameMark& mark) { return mark.stream == stream_; }));
  base::append(declared_, Declarations(batch.declarations));
  for (const ScopeRun& run : batch.runs) {
    const auto known =
        std::find_if(dropped_.begin(), dropped_.end(), [&run](const auto& entry) { return entry.first == run.track; });
    if (known != dropped_.end()) {
      known->second = {run.dropped_scopes, run.dropped_others};
    } else if (run.dropped_scopes + run.dropped_others != 0) {
      dropped_.push_back({run.track, {run.dropped_scopes, run.dropped_others}});
    }
  }
  kept_.push_back({std::move(copy), bytes, frames});
  last_cpu_ns_ = static_cast<std::uint64_t>(base::thread_cpu_ns());  // runs in the collector's thread
  last_wall_ns_ = static_cast<std::uint64_t>(base::monotonic_now_ns());
  if (first_wall_ns_ == 0) {
    first_cpu_ns_ = last_cpu_ns_;
    first_wall_ns_ = last_wall_ns_;
  }
  bytes_ += bytes;
  frames_ += frames;
  trim();
  has_news_ = true;
}

void LiveWindow::trim() {
  // The newest batch stays, whatever its size.
  while (kept_.size() > 1 && (bytes_ > bounds_.bytes || kept_.size() > bounds_.batches ||
                              frames_ - kept_.front().frames > bounds_.frames)) {
    bytes_ -= kept_.front().bytes;
    frames_ -= kept_.front().frames;
    kept_.pop_front();
    ++first_number_;
  }
}

bool LiveWindow::take(Contents& contents) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_news_) {
    return false;
  }
  has_news_ = false;
  contents.first_number = first_number_;
  contents.batches.clear();
  for (const Kept& kept : kept_) {
    contents.batches.push_back(kept.batch);
  }
  contents.declared = std::exchange(declared_, {});
  contents.collector_cpu_ns = last_cpu_ns_ - first_cpu_ns_;
  contents.collector_wall_ns = last_wall_ns_ - first_wall_ns_;
  contents.dropped_scopes = 0;
  contents.dropped_others = 0;
  for (const auto& entry : dropped_) {
    contents.dropped_scopes += entry.second.first;
    contents.dropped_others += entry.second.second;
  }
  return true;
}

std::size_t LiveWindow::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

LiveBlocks::LiveBlocks(std::shared_ptr<LiveWindow> window, double empty_scope_ns)
    : window_(std::move(window)), empty_scope_ns_(empty_scope_ns), blocks_(1) {
  // Its number tells which of the observed threads have tracks, and which of them is the main thread.
  Declarations own;
  ProcessDeclaration& process = own.processes.emplace_back();
  process.id = ProcessId{1};
  process.pid = static_cast<std::uint64_t>(::getpid());
  declared_.add(own);
}

void LiveBlocks::set_columns(const std::vector<MetricColumn>& columns, const std::deque<std::int64_t>& ticks_ns) {
  new_columns_declared_ = {};
  EventBatch batch;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const MetricColumn& column = columns[i];
    MetricDeclaration& metric = new_columns_declared_.metrics.emplace_back();
    metric.id = MetricId{first_column + static_cast<std::uint32_t>(i)};
    metric.name = column.name;
    metric.unit = column.unit;
    metric.step = column.is_integer ? 1 : 0;
    SampleRun& run = batch.samples.emplace_back();
    run.metric = metric.id;
    const auto count = static_cast<std::ptrdiff_t>(std::min(column.values.size(), ticks_ns.size()));
    run.times_ns.assign(ticks_ns.end() - count, ticks_ns.end());
    run.values.assign(column.values.end() - count, column.values.end());
  }
  if (!ticks_ns.empty()) {
    batch.start_ns = ticks_ns.front();
    batch.end_ns = ticks_ns.back();
  }
  new_records_ = std::make_shared<Detail>(timeline::make_detail(batch, false));
}

bool LiveBlocks::refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool has_records = new_records_ != nullptr;
  if (has_records) {
    records_ = std::exchange(new_records_, nullptr);
    declared_.add(new_columns_declared_);
  }
  if (!window_->take(contents_)) {
    return has_records;
  }
  declared_.add(contents_.declared);
  blocks_[0].blocks.clear();
  for (const auto& batch : contents_.batches) {
    blocks_[0].blocks.push_back({batch->start_ns, std::max(batch->end_ns, batch->start_ns)});
  }
  return true;
}

TimeRange LiveBlocks::range() const {
  TimeRange range{0, 0};
  for (const timeline::BlockPlace& block : blocks_[0].blocks) {
    const bool is_first = &block == blocks_[0].blocks.data();
    range.start_ns = is_first ? block.start_ns : std::min(range.start_ns, block.start_ns);
    range.end_ns = is_first ? block.end_ns : std::max(range.end_ns, block.end_ns);
  }
  return range;
}

ProviderFacts LiveBlocks::facts() const {
  ProviderFacts facts;
  facts.dropped_scopes = contents_.dropped_scopes;
  facts.dropped_others = contents_.dropped_others;
  facts.empty_scope_ns = empty_scope_ns_;
  facts.collector_cpu_ns = contents_.collector_cpu_ns;
  facts.collector_wall_ns = contents_.collector_wall_ns;
  return facts;
}

std::shared_ptr<const EventBatch> LiveBlocks::read(std::size_t, std::size_t number, BatchParts) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t place = number - contents_.first_number;
  return number >= contents_.first_number && place < contents_.batches.size() ? contents_.batches[place] : nullptr;
}

std::vector<stats::SiteFigures> LiveBlocks::figures() const {
  std::vector<std::shared_ptr<const EventBatch>> batches;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    batches = contents_.batches;
  }
  stats::SiteCounter sites;
  std::unordered_map<TrackId, capture::ScopeStack> stacks;
  for (const auto& batch : batches) {
    for (const ScopeRun& run : batch->runs) {
      const auto add = [&sites](const capture::ScopeSpan& scope) { sites.add(scope); };
      capture::match(run, stacks[run.track], add, batch->start_ns);
    }
  }
  return sites.figures();
}

SpanFacts LiveBlocks::find_span(const SpanKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // From the block where it began to the one where it ended, as far as known.
  std::vector<std::shared_ptr<const EventBatch>> batches;
  for (const auto& batch : contents_.batches) {
    const bool is_before = batch->end_ns < key.start_ns;
    const bool is_after = batch->start_ns > key.end_ns && !batches.empty() && batches.back()->end_ns > key.end_ns;
    if (!is_before && !is_after) {
      batches.push_back(batch);
    }
  }
  return pick_span(key, timeline::spans_of_batches(batches, key.track), *this);
}

}  // namespace kymo::panel
