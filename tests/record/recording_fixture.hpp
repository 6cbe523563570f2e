// A recorder that runs for the length of a test, and what came out of it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <kymo/kymo.hpp>

#include "record/recorder/recorder.hpp"
#include "support/memory_sink.hpp"

namespace kymo::record {

using test::MemorySink;

/// Records into a MemorySink for the length of a test.
class RecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RecorderOptions options;
    options.pool.bytes = 4 * smallest_pool_bytes;
    options.on_step = [](CollectorStep step) {
      if (const auto* const call = on_step.load()) {
        (*call)(step);
      }
    };
    ASSERT_TRUE(Recorder::instance().start(options));
    handle_ = Recorder::instance().add_sink(sink_);
    ASSERT_NE(handle_, 0U);
  }
  void TearDown() override { Recorder::instance().remove_sink(handle_); }

  std::vector<EventBatch> recorded() {
    EXPECT_TRUE(Recorder::instance().flush(std::chrono::seconds(30)));
    return sink_->batches();
  }

  /// Called by the collector, while it is not null.
  static inline std::atomic<const std::function<void(CollectorStep)>*> on_step{nullptr};
  std::shared_ptr<MemorySink> sink_ = std::make_shared<MemorySink>();
  std::uint64_t handle_ = 0;
};

/// What all tracks have lost, as the batches state it.
inline DropCounts dropped(const std::vector<EventBatch>& batches) {
  std::map<TrackId, DropCounts> by_track;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      if (run.track) {
        by_track[run.track] = {run.dropped_scopes, run.dropped_others};
      }
    }
  }
  DropCounts total;
  for (const auto& [track, counts] : by_track) {
    total.scopes += counts.scopes;
    total.others += counts.others;
  }
  return total;
}
inline std::uint64_t dropped_scopes(const std::vector<EventBatch>& batches) {
  return dropped(batches).scopes;
}

/// Takes no batch while its gate is shut.
class GatedSink final : public Sink {
 public:
  void write(const EventBatch& /*batch*/) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }
  void set_open(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
};

inline std::int64_t monotonic_now() {
  return static_cast<std::int64_t>(detail::monotonic_ns());
}

}  // namespace kymo::record
