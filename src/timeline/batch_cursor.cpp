#include <kymo/batch_cursor.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "timeline/source.hpp"

namespace kymo {

class BatchCursor::Implementation {
 public:
  Implementation(const Timeline& timeline, TimeRange range, BatchParts parts, Choice choice)
      : sources_(timeline::sources_of(timeline)), range_(range), parts_(parts), choice_(std::move(choice)) {
    is_damaged_.resize(sources_.size());
    open_.resize(sources_.size());
    for (std::size_t capture = 0; capture < sources_.size(); ++capture) {
      push(capture, 0);
      blocks_ += sources_[capture]->block_count();
    }
  }

  bool next(EventBatch& batch) {
    while (!queue_.empty()) {
      const auto [start_ns, capture, block] = queue_.top();
      queue_.pop();
      const bool is_read = sources_[capture]->read(block, parts_, batch);
      ++done_;
      push(capture, block + 1);
      if (!is_read) {
        is_damaged_[capture] = true;
      } else {
        batch.follows_loss = batch.follows_loss || is_damaged_[capture];
        is_damaged_[capture] = false;
        end_what_was_lost(open_[capture], batch);
        capture_ = capture;
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::size_t capture() const { return capture_; }
  [[nodiscard]] double share_done() const {
    return blocks_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(blocks_);
  }

 private:
  using Next = std::tuple<std::int64_t, std::size_t, std::size_t>;  // start of the block, capture, block

  static bool leaves_open(const ScopeRun& run) {
    return run.events.empty() ? !run.open_at_start.empty()
                              : run.events.back().is_open() || run.events.back().depth != 0;
  }

  /// A batch names every track with open scopes. Where one that had some is not named any more, their ends are missing:
  /// a run without scopes tells that to those who follow tracks.
  static void end_what_was_lost(std::map<TrackId, ScopeRun>& open, EventBatch& batch) {
    std::vector<ScopeRun> ended;
    if (batch.follows_loss && !batch.runs.empty()) {
      for (const auto& [track, last] : open) {
        const bool is_named = std::any_of(batch.runs.begin(), batch.runs.end(),
                                          [id = track](const ScopeRun& run) { return run.track == id; });
        if (!is_named) {
          ended.push_back(last);
        }
      }
    }
    for (const ScopeRun& run : batch.runs) {
      if (leaves_open(run)) {
        ScopeRun& last = open[run.track];
        last.track = run.track;
        last.first_sequence = last.end_sequence = run.end_sequence;
        last.dropped_scopes = run.dropped_scopes;
        last.dropped_others = run.dropped_others;
      } else {
        open.erase(run.track);
      }
    }
    for (ScopeRun& run : ended) {
      open.erase(run.track);
      batch.runs.push_back(std::move(run));
    }
  }

  /// Queues a capture's next block of the range.
  void push(std::size_t capture, std::size_t block) {
    const timeline::Source& from = *sources_[capture];
    for (; block < from.block_count(); ++block) {
      if (from.start_ns(block) < range_.end_ns && from.end_ns(block) >= range_.start_ns &&
          (!choice_ || choice_(capture, block))) {
        queue_.emplace(from.start_ns(block), capture, block);
        return;
      }
      ++done_;
    }
  }

  std::span<const std::unique_ptr<timeline::Source>> sources_;
  TimeRange range_;
  BatchParts parts_;
  Choice choice_;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue_;
  std::vector<bool> is_damaged_;                   // by capture: the block before was
  std::vector<std::map<TrackId, ScopeRun>> open_;  // by capture: runs without events of tracks with open scopes
  std::size_t capture_ = 0;
  std::size_t blocks_ = 0;
  std::size_t done_ = 0;
};

BatchCursor::BatchCursor(const Timeline& timeline, TimeRange range, BatchParts parts, Choice choice)
    : implementation_(std::make_unique<Implementation>(timeline, range, parts, std::move(choice))) {}
BatchCursor::BatchCursor(BatchCursor&&) noexcept = default;
BatchCursor& BatchCursor::operator=(BatchCursor&&) noexcept = default;
BatchCursor::~BatchCursor() = default;

bool BatchCursor::next(EventBatch& batch) {
  return implementation_->next(batch);
}
std::size_t BatchCursor::capture() const {
  return implementation_->capture();
}
double BatchCursor::share_done() const {
  return implementation_->share_done();
}

}  // namespace kymo
