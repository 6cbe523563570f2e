#include <kymo/batch_cursor.hpp>

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "timeline/open_tracks.hpp"
#include "timeline/source.hpp"

namespace kymo {

class BatchCursor::Implementation {
 public:
  Implementation(const Timeline& timeline, TimeRange range, BatchParts parts, Choice choice)
      : sources_(timeline::sources_of(timeline)), range_(range), parts_(parts), choice_(std::move(choice)) {
    is_damaged_.resize(sources_.size());
    open_.resize(sources_.size());
    for (std::size_t capture = 0; capture < sources_.size(); ++capture) {
      next_.emplace_back(capture, 0);
      blocks_ += sources_[capture]->block_count();
    }
  }

  bool next(EventBatch& batch) {
    for (;;) {
      // Not before the caller has taken the block before it: a choice may depend on that.
      for (const auto& [capture, block] : next_) {
        push(capture, block);
      }
      next_.clear();
      if (queue_.empty()) {
        return false;
      }
      const auto [start_ns, capture, block] = queue_.top();
      queue_.pop();
      const bool is_read = sources_[capture]->read(block, parts_, batch);
      ++done_;
      next_.emplace_back(capture, block + 1);
      if (!is_read) {
        is_damaged_[capture] = true;
      } else {
        batch.follows_loss = batch.follows_loss || is_damaged_[capture];
        is_damaged_[capture] = false;
        open_[capture].end_lost(batch);
        capture_ = capture;
        return true;
      }
    }
  }

  [[nodiscard]] std::size_t capture() const { return capture_; }
  [[nodiscard]] double share_done() const {
    return blocks_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(blocks_);
  }

 private:
  using Next = std::tuple<std::int64_t, std::size_t, std::size_t>;  // start of the block, capture, block

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
  std::vector<std::pair<std::size_t, std::size_t>> next_;  // captures, each with the block to go on from
  std::vector<bool> is_damaged_;                           // by capture: the block before was
  std::vector<timeline::OpenTracks> open_;                 // by capture
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
