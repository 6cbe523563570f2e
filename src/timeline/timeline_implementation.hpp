// Internals of Timeline.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/merge/clock_alignment.hpp"
#include "capture/merge/id_translation.hpp"
#include "timeline/source.hpp"

namespace kymo {

class Timeline::Implementation {
 public:
  explicit Implementation(const TimelineOptions& options);

  void open_all(const std::vector<std::string>& paths);
  void add(CaptureReader reader);
  bool refresh();

  /// Calls visit(index of the source, batch) for each batch of the range until it returns false.
  using Visit = std::function<bool(std::size_t source, const EventBatch& batch)>;
  void visit_batches(TimeRange range, BatchParts parts, const Visit& visit) const;

  // These members are private, although the files of src/timeline and src/stats that implement Timeline read them.
  // NOLINTBEGIN(readability-identifier-naming)
  TimelineOptions options_;
  capture::ClockAxis axis_;
  capture::Numbering numbering_;
  std::vector<std::unique_ptr<timeline::Source>> sources_;
  Declarations declarations_;
  std::vector<TimelineProcess> processes_;
  std::vector<std::string> complaints_;
  std::vector<std::string> directories_;
  std::set<std::string> known_files_;
  // NOLINTEND(readability-identifier-naming)

 private:
  bool open_in_directory(const std::string& file);
  void absorb(std::size_t index);
  void take_infos(const std::vector<InfoDeclaration>& infos);

  std::map<std::pair<ProcessId, std::string>, std::size_t> info_places_;  // by key: its index in the process's infos
};

namespace timeline {

/// Iterates over the batches of a timeline whose declared range overlaps a range: by ascending start of the blocks, and
/// each capture's in order.
class BatchCursor {
 public:
  /// Whether to return a block of a capture.
  using Choice = std::function<bool(std::size_t source, std::size_t block)>;

  BatchCursor(const Timeline& timeline, TimeRange range, BatchParts parts, Choice choice = nullptr)
      : BatchCursor(timeline.implementation(), range, parts, std::move(choice)) {}
  BatchCursor(const Timeline::Implementation& timeline, TimeRange range, BatchParts parts, Choice choice = nullptr);

  /// Fills in the next readable batch, with the timeline's ids and times and without declarations; false at the end.
  [[nodiscard]] bool next(EventBatch& batch);
  /// The capture of the last batch.
  [[nodiscard]] std::size_t source() const { return source_; }
  /// The share of the blocks returned so far, 0 to 1.
  [[nodiscard]] double share_done() const {
    return blocks_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(blocks_);
  }

 private:
  using Next = std::tuple<std::int64_t, std::size_t, std::size_t>;  // start of the block, source, block

  void push(std::size_t source, std::size_t block);

  const Timeline::Implementation& timeline_;
  TimeRange range_;
  BatchParts parts_;
  Choice choice_;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue_;
  std::size_t source_ = 0;
  std::size_t blocks_ = 0;
  std::size_t done_ = 0;
};

/// Timeline::visit_spans that reports the finished share to `on_progress` (if any) after each block.
void visit_spans(const Timeline& timeline, const std::function<bool(const SpanList&)>& visit,
                 const std::function<void(double)>& on_progress);

}  // namespace timeline

}  // namespace kymo
