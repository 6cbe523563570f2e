// The panel in a program that records itself.
#include <gtest/gtest.h>

#include <kymo/capture.hpp>
#include <kymo/kymo.hpp>
#include <kymo/panel.hpp>
#include <kymo/sink.hpp>

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "screen.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

struct Record {
  int visible = 0;
  float load = 0;
};

void step() {
  KYMO_SCOPE("step");
  KYMO_SCOPE("inner");
}

TEST(LivePanel, ShowsWhatTheProgramDoesWithoutAFile) {
  const auto before = std::filesystem::directory_iterator(".");
  const auto files = std::distance(begin(before), end(before));
  kymo::enable();
  PanelConfig config;
  config.title = "live %s##panel";
  PanelState panel{config};
  Screen screen([&panel] { show(panel); });
  const int empty = screen.checked_vertices();
  const auto work = [] {
    for (int i = 0; i < 50; ++i) {
      step();
      record_metric("loss", 1.0 / (i + 1));
      frame_mark();
    }
    return flush();
  };
  ASSERT_TRUE(work());
  screen.frames(3);
  // What the worker decodes comes as it can. Meanwhile the program works on: the view follows, and leaves the past
  // behind.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (screen.checked_vertices() < empty + 200 && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(work());
    screen.frame();
  }
  EXPECT_GE(screen.checked_vertices(), empty + 200);
  const auto after = std::filesystem::directory_iterator(".");
  EXPECT_EQ(std::distance(begin(after), end(after)), files);
  EXPECT_FALSE(panel.is_paused());
  panel.toggle_pause();
  EXPECT_TRUE(panel.is_paused());
}

/// Collects the names of metrics that have samples.
class SampledMetrics final : public Sink {
 public:
  void write(const EventBatch& batch) override {
    const std::lock_guard lock(mutex_);
    for (const MetricDeclaration& metric : batch.declarations.metrics) {
      names_[metric.id] = metric.name;
    }
    for (const SampleRun& run : batch.samples) {
      seen_.insert(names_[run.metric]);
    }
  }
  [[nodiscard]] bool has(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return seen_.count(name) != 0;
  }

 private:
  mutable std::mutex mutex_;
  std::map<MetricId, std::string> names_;
  std::set<std::string> seen_;
};

TEST(LivePanel, TheMachineIsSampledWhileThePanelExistsUnlessToldOtherwise) {
  if (!start_sampling()) {
    GTEST_SKIP() << "kymo::sense is not part of this build";
  }
  stop_sampling();
  const auto metrics = std::make_shared<SampledMetrics>();
  const SinkGuard guard = Sink::install(metrics);
  {
    PanelConfig config;
    config.samples_machine = false;
    const PanelState panel{config};
    EXPECT_TRUE(start_sampling()) << "nobody did";
    stop_sampling();
  }
  {
    const PanelState panel{PanelConfig()};
    EXPECT_FALSE(start_sampling()) << "the panel did";
    EXPECT_TRUE(wait_until([&metrics] { return metrics->has("memory_used") && metrics->has("process_rss"); }));
  }
  EXPECT_TRUE(start_sampling()) << "it ended with the panel";
  { const PanelState panel{PanelConfig()}; }
  EXPECT_FALSE(start_sampling()) << "that of the program goes on";
  stop_sampling();
}

TEST(LivePanel, RecordsOfAProgramHaveRowsOfTheirOwn) {
  PanelState panel;
  std::deque<Record> history;
  const std::vector<Metric<Record>> metrics = {Metric{"visible", &Record::visible, "splats"}.as_integer(),
                                               Metric{"load", &Record::load}};
  Screen screen([&] { show(panel, history, metrics); });
  const int empty = screen.checked_vertices();
  for (int i = 0; i < 40; ++i) {
    history.push_back({i * 1000, static_cast<float>(i % 7)});
    panel.tick();
    ASSERT_TRUE(flush());
    screen.frame();
  }
  EXPECT_GE(screen.checked_vertices(), empty + 100);
}

TEST(LivePanel, APanelWithoutAContextSaysSo) {
  PanelState panel;
  EXPECT_THROW(show(panel), std::runtime_error);
}

TEST(Replay, OpensACaptureInAWindowOfOnesOwn) {
  const TemporaryDirectory directory;
  CaptureOptions options;
  options.path = directory / "run.kymo";
  ASSERT_TRUE(start_capture(options));
  for (int i = 0; i < 30; ++i) {
    step();
    frame_mark();
  }
  ASSERT_TRUE(stop_capture());
  ReplayState replay = ReplayState::open(directory / "run.kymo");
  Screen screen([&replay] { replay.show(); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (screen.checked_vertices() < 800 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    screen.frame();
  }
  EXPECT_GE(screen.checked_vertices(), 800);
  replay.toggle_pause();
  EXPECT_TRUE(replay.is_paused());
  EXPECT_NO_THROW(static_cast<void>(ReplayState::open(directory / ""))) << "a directory of captures";
  EXPECT_THROW(static_cast<void>(ReplayState::open(directory / "none.kymo")), CaptureError);
}

}  // namespace
}  // namespace kymo::test
