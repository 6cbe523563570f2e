// A sink that keeps every batch, and helpers to examine them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kymo/sink.hpp>

namespace kymo::test {

/// Keeps every batch. Examine them after a flush or after the sink's removal.
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

/// A scope in a test.
struct SeenScope {
  TrackId track;
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  unsigned depth = 0;
  bool is_forced = false;
};

/// Pairs opens with closes in the simplest way: one stack per track. Scopes in closing order.
[[nodiscard]] std::vector<SeenScope> closed_scopes(const std::vector<EventBatch>& batches);

/// The name of a site, track, metric or text as declared in the batches; empty if undeclared.
[[nodiscard]] std::string site_name(const std::vector<EventBatch>& batches, SiteId site);
[[nodiscard]] std::string track_name(const std::vector<EventBatch>& batches, TrackId track);
[[nodiscard]] std::string text_name(const std::vector<EventBatch>& batches, NameId name);

/// The values of a metric in order.
[[nodiscard]] std::vector<double> values_of(const std::vector<EventBatch>& batches, const std::string& metric);

}  // namespace kymo::test
