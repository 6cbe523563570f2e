// A sink that keeps every batch, and what a test asks of it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kymo/sink.hpp>

namespace kymo::test {

/// Keeps every batch that it is given. Look at it after a flush, or after it was removed.
class MemorySink final : public Sink {
 public:
  void write(const EventBatch& batch) override {
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);
  }
  void finish() override { is_finished_ = true; }

  [[nodiscard]] std::vector<EventBatch> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  [[nodiscard]] bool is_finished() const { return is_finished_; }

 private:
  mutable std::mutex mutex_;
  std::vector<EventBatch> batches_;
  bool is_finished_ = false;
};

/// A scope as a test sees it.
struct SeenScope {
  TrackId track = 0;
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  unsigned depth = 0;
  bool is_forced = false;
};

/// Pairs opens with closes the plain way: a stack a track. Scopes in the order they closed.
[[nodiscard]] std::vector<SeenScope> closed_scopes(const std::vector<EventBatch>& batches);

/// The name of a site, track, metric or text as it was declared in the batches; empty when it was not.
[[nodiscard]] std::string site_name(const std::vector<EventBatch>& batches, SiteId site);
[[nodiscard]] std::string track_name(const std::vector<EventBatch>& batches, TrackId track);
[[nodiscard]] std::string text_name(const std::vector<EventBatch>& batches, NameId name);

/// The values of a metric in order.
[[nodiscard]] std::vector<double> values_of(const std::vector<EventBatch>& batches, const std::string& metric);

}  // namespace kymo::test
