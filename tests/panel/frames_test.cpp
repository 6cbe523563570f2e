// The frames on the screen are those of the capture, in any range, at any zoom, however it is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include <kymo/exchange.hpp>

#include "game_capture.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel/layout/frame_layout.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

constexpr FrameStreamId stream{1};

/// A capture of one stream, among marks of another, in blocks and summaries of random sizes. Events before some blocks
/// are missing.
struct Marked {
  std::vector<Frame> frames;
  Bytes bytes;
  std::int64_t end_ns = 0;
};

Marked make_marked(std::mt19937& random) {
  Marked made;
  const auto one_of = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  const bool has_waits = random() % 2 == 0;
  const bool has_losses = random() % 2 == 0;
  std::int64_t now = 1'000'000'000;
  std::vector<EventBatch> batches;
  std::optional<std::int64_t> last_mark_ns;
  for (std::int64_t blocks = 20 + one_of(150); blocks > 0; --blocks) {
    EventBatch& batch = batches.emplace_back();
    if (batches.size() == 1) {
      batch.declarations.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 100, "main"}};
      batch.declarations.frame_streams = {{stream, ProcessId{1}, ""}, {FrameStreamId{2}, ProcessId{1}, "other"}};
    }
    batch.start_ns = now;
    const bool is_waiting = has_waits && random() % 3 != 0;
    std::int64_t frames = is_waiting ? 0 : one_of(9);
    if (frames != 0 && has_losses && random() % 10 == 0) {
      batch.frame_marks.push_back({stream, {}, now, true});
      last_mark_ns.reset();
    }
    for (; frames > 0; --frames) {
      now += 1 + (random() % 20 == 0 ? one_of(500'000'000) : one_of(20'000'000));
      batch.frame_marks.push_back({stream, TrackId{1}, now});
      if (last_mark_ns) {
        made.frames.push_back({*last_mark_ns, now - *last_mark_ns});
      }
      last_mark_ns = now;
    }
    now += one_of(30'000'000);
    batch.frame_marks.push_back({FrameStreamId{2}, TrackId{1}, now});
    batch.end_ns = now;
    now += one_of(2) * one_of(300'000'000);
  }
  made.end_ns = now;
  capture::CaptureWriterOptions options = sample_options();
  options.with_summaries = random() % 4 != 0;
  options.summary_intervals.most_blocks = 1 + random() % 8;
  options.summary_intervals.merged = 2 + static_cast<unsigned>(random() % 3);
  made.bytes = write_capture(batches, random() % 2 == 0, std::move(options));
  return made;
}

TimeRange random_range(const Marked& marked, std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> any(900'000'000, marked.end_ns + 100'000'000);
  if (random() % 3 == 0 && !marked.frames.empty()) {
    // Inside one frame, or at its edges.
    const auto [start, length] = marked.frames[random() % marked.frames.size()];
    const std::int64_t from = start + static_cast<std::int64_t>(random() % 3) * length / 3;
    return {from, std::max(from + 20, from + length / 3)};
  }
  const std::int64_t a = any(random);
  const std::int64_t b = any(random);
  return {std::min(a, b), std::max(a, b) + 20};
}

/// The frames that csv-frames exports of the stream, as those of the panel.
std::vector<Frame> exported_frames(const Marked& marked) {
  std::vector<CaptureReader> readers;
  readers.push_back(open_bytes(marked.bytes));
  const Timeline timeline(std::move(readers));
  const TemporaryDirectory directory;
  const std::string path = directory / "frames.csv";
  export_frames_csv(timeline, path);
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::vector<std::string> titles;
  std::istringstream header(line);
  for (std::string title; std::getline(header, title, ',');) {
    titles.push_back(title);
  }
  const auto place_of = [&titles](const char* title) {
    return static_cast<std::size_t>(std::find(titles.begin(), titles.end(), title) - titles.begin());
  };
  std::vector<Frame> frames;
  while (std::getline(in, line)) {
    std::vector<std::string> fields;
    std::istringstream row(line);
    for (std::string field; std::getline(row, field, ',');) {
      fields.push_back(field);
    }
    if (fields.at(place_of("stream")).empty()) {
      frames.push_back({std::stoll(fields.at(place_of("start_ns"))), std::stoll(fields.at(place_of("duration_ns")))});
    }
  }
  return frames;
}

std::vector<Frame> frames_in(const Marked& marked, TimeRange range) {
  std::vector<Frame> frames;
  std::copy_if(marked.frames.begin(), marked.frames.end(), std::back_inserter(frames), [&range](const Frame& frame) {
    return frame.start_ns < range.end_ns && frame.start_ns + frame.duration_ns > range.start_ns;
  });
  return frames;
}

bool is_one_of(const std::vector<Frame>& frames, const Frame& frame) {
  return std::any_of(frames.begin(), frames.end(), [&frame](const Frame& other) {
    return other.start_ns == frame.start_ns && other.duration_ns == frame.duration_ns;
  });
}

void load_everything(panel::ViewState& state) {
  for (int i = 0; i < 200; ++i) {
    state.begin_frame();
    static_cast<void>(state.frame_bars(3));
    state.end_frame();
  }
  ASSERT_FALSE(state.data().is_busy());
}

/// Compares the bars of a range with the marks that were written.
void check_bars(panel::ViewState& state, const Marked& marked, bool may_be_unknown) {
  const std::vector<Frame> expected = frames_in(marked, state.overview().range());
  const panel::FrameBars& bars = state.frame_bars(3);
  std::int64_t longest_ns = 0;
  for (const Frame& frame : expected) {
    longest_ns = std::max(longest_ns, frame.duration_ns);
  }
  EXPECT_EQ(bars.count, expected.size());
  EXPECT_EQ(bars.longest_ns, longest_ns);
  // Where summaries are read, the marks of the last frame may not be known.
  EXPECT_TRUE(bars.latest.has_value() == !expected.empty() || (may_be_unknown && !bars.latest));
  if (bars.latest && !expected.empty()) {
    EXPECT_EQ(bars.latest->start_ns, expected.back().start_ns);
    EXPECT_EQ(bars.latest->duration_ns, expected.back().duration_ns);
  }
  std::uint64_t count = 0;
  for (const panel::FrameBar& bar : bars.bars) {
    count += bar.count;
    if (bar.longest.is_known) {
      EXPECT_TRUE(is_one_of(expected, bar.longest.frame)) << bar.longest.frame.start_ns;
    } else {
      EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [&bar](const Frame& frame) {
        return frame.duration_ns == bar.longest.frame.duration_ns && frame.start_ns >= bar.longest.among.start_ns &&
               frame.start_ns + frame.duration_ns <= bar.longest.among.end_ns;
      }));
    }
  }
  EXPECT_EQ(count, bars.count);
}

/// Pins a bar, and the frame at a time in the range.
void check_pins(panel::ViewState& state, const Marked& marked, std::mt19937& random) {
  const std::vector<panel::FrameBar> bars = state.frame_bars(3).bars;
  if (!bars.empty()) {
    const panel::FrameBar& bar = bars[random() % bars.size()];
    state.pin_bar(bar);
    load_everything(state);
    ASSERT_TRUE(state.pinned().has_value());
    EXPECT_EQ(state.pinned()->duration_ns, bar.longest.frame.duration_ns);
    EXPECT_TRUE(is_one_of(frames_in(marked, {}), *state.pinned()));
  }
  const TimeRange range = state.overview().range();
  const std::int64_t at =
      range.start_ns + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range.end_ns - range.start_ns));
  const std::vector<Frame> expected = frames_in(marked, {at, at + 1});
  state.pin_at(at);
  load_everything(state);
  ASSERT_EQ(state.pinned().has_value(), !expected.empty());
  if (!expected.empty()) {
    EXPECT_EQ(state.pinned()->start_ns, expected[0].start_ns);
    EXPECT_EQ(state.pinned()->duration_ns, expected[0].duration_ns);
    state.step_frame(true);
    load_everything(state);
    const std::int64_t end_ns = expected[0].start_ns + expected[0].duration_ns;
    const bool is_followed = is_one_of(frames_in(marked, {end_ns, end_ns + 1}), *state.pinned());
    EXPECT_EQ(state.pinned()->start_ns, is_followed ? end_ns : expected[0].start_ns);
    EXPECT_EQ(is_followed, !frames_in(marked, {end_ns, end_ns + 1}).empty());
  }
}

/// A frame has the number that its row has in csv-frames. Without summaries, those of long captures are not counted.
void check_number(panel::ViewState& state, const Marked& marked, bool may_be_unknown, std::mt19937& random) {
  if (marked.frames.empty()) {
    return;
  }
  const std::size_t at = random() % marked.frames.size();
  const Frame frame = marked.frames[at];
  static_cast<void>(state.frame_number(frame, panel::Asker::tip_number));
  std::optional<FrameNumber> number;
  for (int i = 0; i < 200 && !number; ++i) {
    state.begin_frame();
    number = state.frame_number(frame, panel::Asker::tip_number);
    state.end_frame();
  }
  if (number || !may_be_unknown) {
    EXPECT_EQ(number, std::optional<FrameNumber>(at + 1));
  }
}

TEST(Frames, AreTheCapturesInEveryRangeAndAtEveryZoom) {
  for (unsigned round = 0; round < rounds(100U); ++round) {
    SCOPED_TRACE(round);
    std::mt19937 random(round);
    const Marked marked = make_marked(random);
    // What the panel is compared with below is what csv-frames exports.
    const std::vector<Frame> exported = exported_frames(marked);
    const std::vector<Frame> written = frames_in(marked, {});
    ASSERT_EQ(exported.size(), written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
      ASSERT_EQ(exported[i].start_ns, written[i].start_ns) << i;
      ASSERT_EQ(exported[i].duration_ns, written[i].duration_ns) << i;
    }
    panel::DataOptions options = immediate_data();
    options.most_blocks = round % 2 == 0 ? 4096 : 1 + random() % 16;  // beyond it, summaries are read
    panel::ViewState state(provide(marked.bytes), options);
    state.overview().set_width(static_cast<double>(100 + random() % 1500));
    state.flame().set_width(1000);
    state.pause();
    for (int window = 0; window < 12; ++window) {
      state.overview().show(window == 0 ? state.overview().bounds() : random_range(marked, random));
      load_everything(state);
      check_bars(state, marked, round % 2 != 0);
      check_pins(state, marked, random);
      check_number(state, marked, round % 2 != 0, random);
      if (HasFailure()) {
        return;
      }
    }
  }
}

/// A capture that cannot be read for a while, as when its server is away.
class Unreachable final : public panel::BlockProvider {
 public:
  explicit Unreachable(std::shared_ptr<panel::BlockProvider> reached) : reached_(std::move(reached)) {}
  bool is_away = true;

  bool refresh() override { return false; }
  [[nodiscard]] const std::vector<panel::CaptureBlocks>& blocks() const override { return reached_->blocks(); }
  [[nodiscard]] std::size_t capture_of(FrameStreamId id) const override { return reached_->capture_of(id); }
  [[nodiscard]] std::size_t first_block() const override { return 0; }
  [[nodiscard]] TimeRange range() const override { return reached_->range(); }
  [[nodiscard]] panel::Arrival arrival() const override { return panel::Arrival::unreachable; }
  [[nodiscard]] panel::ProviderFacts facts() const override { return reached_->facts(); }
  [[nodiscard]] const Declarations& declarations() const override { return reached_->declarations(); }
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const override { return reached_->site(id); }
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const override { return reached_->track(id); }
  [[nodiscard]] std::string_view name(NameId id) const override { return reached_->name(id); }
  [[nodiscard]] std::shared_ptr<const EventBatch> read(std::size_t capture, std::size_t number,
                                                       BatchParts parts) const override {
    // The middle of the capture is out of reach.
    if (is_away && number > blocks()[0].blocks.size() / 3 && number < blocks()[0].blocks.size() * 2 / 3) {
      throw CaptureError("run.kymo", 0, "the server is away");
    }
    return reached_->read(capture, number, parts);
  }
  [[nodiscard]] bool read_summary(std::size_t, std::size_t, timeline::Detail&) const override {
    throw CaptureError("run.kymo", 0, "the server is away");
  }
  [[nodiscard]] std::vector<stats::SiteFigures> figures() const override { return {}; }
  [[nodiscard]] panel::SpanFacts find_span(const panel::SpanKey&) const override { return {}; }

 private:
  std::shared_ptr<panel::BlockProvider> reached_;
};

TEST(Frames, WhatIsOutOfReachForAWhileIsNoLongFrameAndIsReadLater) {
  Game game;
  game.frames = 300;
  const Bytes bytes = game.write();
  const auto provider = std::make_shared<Unreachable>(provide(bytes));
  panel::DataOptions options = immediate_data();
  options.retry_after = std::chrono::nanoseconds(1);
  panel::ViewState state(provider, options);
  state.overview().set_width(2000);
  for (int i = 0; i < 20; ++i) {
    state.begin_frame();
    static_cast<void>(state.frame_bars(3));
    state.end_frame();
  }
  EXPECT_EQ(state.frame_bars(3).longest_ns, Game::slow_ns);
  EXPECT_LT(state.frame_bars(3).count, 250U);
  provider->is_away = false;
  load_everything(state);
  EXPECT_EQ(state.frame_bars(3).longest_ns, Game::slow_ns);
  EXPECT_EQ(state.frame_bars(3).count, 299U);
}

TEST(Frames, ArePinnedByTheirNumbers) {
  std::mt19937 random(7);
  for (int round = 0; round < rounds(12); ++round) {
    const Marked marked = make_marked(random);
    const std::vector<Frame> frames = exported_frames(marked);
    panel::ViewState state(provide(marked.bytes), immediate_data());
    for (int i = 0; i < 4 && !frames.empty(); ++i) {
      const std::size_t place = random() % frames.size();
      state.pin_number(place + 1);
      for (int frame = 0; frame < 200 && (frame == 0 || state.is_busy()); ++frame) {
        state.begin_frame();
        state.end_frame();
      }
      ASSERT_TRUE(state.pinned()) << "round " << round << " frame " << place + 1;
      EXPECT_EQ(state.pinned()->start_ns, frames[place].start_ns);
      EXPECT_EQ(state.pinned()->duration_ns, frames[place].duration_ns);
    }
    state.resume();
    state.pin_number(frames.size() + 2);
    for (int frame = 0; frame < 200 && (frame == 0 || state.is_busy()); ++frame) {
      state.begin_frame();
      state.end_frame();
    }
    EXPECT_FALSE(state.pinned()) << "there is no such frame";
  }
}

}  // namespace
}  // namespace kymo::test
