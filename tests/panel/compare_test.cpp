// Two captures beside each other: what stands where, what is done to both, and the verdicts.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>

#include <kymo/comparison.hpp>

#include "game_capture.hpp"
#include "interaction.hpp"
#include "panel/compare/compare_view.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "screen.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

constexpr std::uint64_t first_sync = 1;

/// The game on another boot, where all takes a quarter longer and sites have other numbers.
struct SlowerGame {
  static constexpr std::int64_t start_ns = 77'000'000'000;
  static constexpr unsigned frames = 60;

  [[nodiscard]] static std::int64_t time_of(std::int64_t time_ns) {
    return start_ns + (time_ns - Game::start_ns) * 5 / 4;
  }
  [[nodiscard]] static std::int64_t start_of(unsigned frame) { return time_of(Game::start_of(frame)); }
  [[nodiscard]] static SiteId site_of(SiteId site) { return SiteId(5 - site.value()); }

  [[nodiscard]] static std::vector<EventBatch> batches();
};

/// Sync points 1, 2, ... in every tenth frame, 2 ms after its start.
void add_sync_points(std::vector<EventBatch>& batches) {
  std::uint64_t number = first_sync;
  for (EventBatch& batch : batches) {
    batch.sync_points.push_back({number++, Game::main_track, batch.frame_marks.front().time_ns + 2'000'000});
  }
}

std::vector<EventBatch> usual_batches() {
  std::vector<EventBatch> batches = Game().batches();
  add_sync_points(batches);
  return batches;
}

std::vector<EventBatch> SlowerGame::batches() {
  Game game;
  game.frames = frames;
  std::vector<EventBatch> batches = game.batches();
  add_sync_points(batches);
  for (EventBatch& batch : batches) {
    batch.start_ns = time_of(batch.start_ns);
    batch.end_ns = time_of(batch.end_ns);
    for (SiteDeclaration& site : batch.declarations.sites) {
      site.id = site_of(site.id);
      site.line += 3;
      site.file = "/elsewhere/" + site.file;
    }
    std::reverse(batch.declarations.sites.begin(), batch.declarations.sites.end());
    for (ScopeRun& run : batch.runs) {
      for (ScopeEvent& event : run.events) {
        event.time_ns = time_of(event.time_ns);
        event.site = event.site ? site_of(event.site) : SiteId();
      }
    }
    for (SpanEvent& span : batch.spans) {
      const std::int64_t end_ns = time_of(span.start_ns + span.duration_ns);
      span.start_ns = time_of(span.start_ns);
      span.duration_ns = end_ns - span.start_ns;
    }
    for (FrameMark& mark : batch.frame_marks) {
      mark.time_ns = time_of(mark.time_ns);
    }
    for (SyncPoint& point : batch.sync_points) {
      point.time_ns = time_of(point.time_ns);
    }
    for (SampleRun& run : batch.samples) {
      for (std::int64_t& time_ns : run.times_ns) {
        time_ns = time_of(time_ns);
      }
    }
  }
  return batches;
}

panel::ComparedCapture compared(const Bytes& bytes, const char* title) {
  return {provide(bytes), title, {1, [&bytes](std::size_t) {
                                    std::vector<CaptureReader> readers;
                                    readers.push_back(open_bytes(bytes));
                                    return Timeline(std::move(readers));
                                  }}};
}

class Compared : public testing::Test {
 protected:
  explicit Compared(ImVec2 size = ImVec2(1920, 1080))
      : base_bytes_(write_capture(usual_batches(), true)),
        new_bytes_(write_capture(SlowerGame::batches(), true)),
        view_(compared(base_bytes_, "before.kymo"), compared(new_bytes_, "after.kymo"), {}, immediate_data()),
        screen_([this] { view_.draw(); }, size) {
    screen_.frames(8);
  }

  [[nodiscard]] panel::ViewState& base() { return view_.base().state(); }
  [[nodiscard]] panel::ViewState& changed() { return view_.changed().state(); }
  /// Where a time stands in a flame chart, or in bars.
  [[nodiscard]] static float flame_x(panel::PanelView& view, std::int64_t time_ns) {
    return view.marks().flame.left + static_cast<float>(view.state().flame().to_pixel(time_ns));
  }
  [[nodiscard]] static float bars_x(panel::PanelView& view, std::int64_t time_ns) {
    return view.marks().bars.left + static_cast<float>(view.state().overview().to_pixel(time_ns));
  }
  void click_frame(panel::PanelView& view, std::int64_t inside_ns) {
    screen_.click(bars_x(view, inside_ns), place_in(view.marks().bars).y);
  }
  void click(const panel::Area& area) { screen_.click(place_in(area).x, place_in(area).y); }
  [[nodiscard]] std::map<std::string, std::vector<std::string>> verdicts() {
    std::map<std::string, std::vector<std::string>> rows;
    std::istringstream lines(view_.copied(panel::CopyAs::csv));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::vector<std::string> row;
      for (std::string field; std::getline(fields, field, ',');) {
        row.push_back(field);
      }
      rows[row[0]] = row;
    }
    return rows;
  }
  /// Both axes of both sides show the same stretch from the anchors on.
  void expect_aligned(std::int64_t base_ns, std::int64_t changed_ns) {
    EXPECT_EQ(base().flame().range().start_ns - base_ns, changed().flame().range().start_ns - changed_ns);
    EXPECT_EQ(base().flame().range().end_ns - base_ns, changed().flame().range().end_ns - changed_ns);
    EXPECT_EQ(base().overview().range().start_ns - base_ns, changed().overview().range().start_ns - changed_ns);
    EXPECT_EQ(base().overview().range().end_ns - base_ns, changed().overview().range().end_ns - changed_ns);
  }

  Bytes base_bytes_;
  Bytes new_bytes_;
  panel::CompareView view_;
  Screen screen_;
};

TEST_F(Compared, ByTheirStartsWhatIsDoneToOneAxisIsDoneToTheOther) {
  expect_aligned(Game::start_ns, SlowerGame::start_ns);
  const std::int64_t all = base().flame().length_ns();
  const std::int64_t longest = std::max(Game::start_of(100) - 1 - Game::start_ns, std::int64_t{0});
  EXPECT_GE(all, longest) << "the longer one is shown whole";
  const panel::Area flame = view_.base().marks().flame;
  screen_.wheel(flame.left + flame.width() * 0.25F, place_in(flame).y, 4);
  screen_.frames(3);
  EXPECT_LT(base().flame().length_ns(), all);
  expect_aligned(Game::start_ns, SlowerGame::start_ns);
  const panel::Area other = view_.changed().marks().flame;
  screen_.drag(place_in(other), ImVec2(place_in(other).x - 200, place_in(other).y));
  const std::int64_t moved = changed().flame().range().start_ns;
  EXPECT_GT(moved, SlowerGame::start_ns);
  expect_aligned(Game::start_ns, SlowerGame::start_ns);
  screen_.type("0");
  screen_.frames(3);
  EXPECT_EQ(base().flame().length_ns(), all);
  expect_aligned(Game::start_ns, SlowerGame::start_ns);
}

TEST_F(Compared, ByFramesTheSameNumberIsPinnedInBothAndBothFit) {
  click(view_.marks().alignments[1]);
  EXPECT_EQ(view_.alignment(), panel::Align::frame);
  click_frame(view_.base(), Game::start_of(20) + Game::frame_ns / 2);
  ASSERT_TRUE(base().pinned() && changed().pinned());
  EXPECT_EQ(base().pinned()->start_ns, Game::start_of(20));
  EXPECT_EQ(changed().pinned()->start_ns, SlowerGame::start_of(20));
  expect_aligned(Game::start_of(20), SlowerGame::start_of(20));
  EXPECT_GE(base().flame().range().end_ns - Game::start_of(20), Game::frame_ns * 5 / 4) << "the longer one fits";
  EXPECT_NEAR(flame_x(view_.base(), Game::start_of(20)), flame_x(view_.changed(), SlowerGame::start_of(20)), 1);
  EXPECT_TRUE(has_text(view_.header(), "frame 21 of both")) << view_.header();

  screen_.key(ImGuiKey_RightArrow);
  screen_.frames(4);
  EXPECT_EQ(base().pinned()->start_ns, Game::start_of(21));
  EXPECT_EQ(changed().pinned()->start_ns, SlowerGame::start_of(21));
  expect_aligned(Game::start_of(21), SlowerGame::start_of(21));

  click_frame(view_.changed(), SlowerGame::start_of(40) + Game::frame_ns / 2);
  EXPECT_EQ(base().pinned()->start_ns, Game::start_of(40)) << "either side leads";

  click_frame(view_.base(), Game::start_of(80) + Game::frame_ns / 2);
  EXPECT_FALSE(changed().pinned().has_value()) << "it has 60 frames";
  EXPECT_TRUE(has_text(view_.header(), "no such frame")) << view_.header();
}

TEST_F(Compared, BySyncPointsPhasesBeginTogether) {
  screen_.move(place_in(view_.base().marks().flame).x, place_in(view_.base().marks().flame).y);
  screen_.type("y");
  screen_.type("y");
  ASSERT_EQ(view_.alignment(), panel::Align::sync_point);
  base().flame().show({Game::start_of(31), Game::start_of(35)});
  screen_.frames(4);
  expect_aligned(Game::start_of(30) + 2'000'000, SlowerGame::time_of(Game::start_of(30) + 2'000'000));
  EXPECT_TRUE(has_text(view_.header(), "sync point 4 of both")) << view_.header();
  base().flame().show({Game::start_of(81), Game::start_of(85)});
  screen_.frames(4);
  EXPECT_TRUE(has_text(view_.header(), "no such sync point")) << view_.header();
}

TEST_F(Compared, AClickedSpanIsMarkedInBothAndItsDistributionsAreDrawn) {
  click_frame(view_.base(), Game::start_of(20) + Game::frame_ns / 2);
  const panel::Area flame = view_.base().marks().flame;
  const float line = std::floor(ImGui::GetTextLineHeight() * 1.25F);
  screen_.click(flame_x(view_.base(), Game::start_of(20) + Game::frame_ns * 3 / 10), flame.top + 1.5F * line + line);
  ASSERT_EQ(base().marked_site(), Game::update_site);
  EXPECT_EQ(changed().marked_site(), SlowerGame::site_of(Game::update_site)) << "by its name, not by its number";
  ASSERT_NE(view_.judged(), nullptr);
  ASSERT_TRUE(view_.chosen().has_value());
  EXPECT_EQ(view_.judged()->comparison.things[*view_.chosen()].name.name, "update");
  EXPECT_TRUE(has_text(view_.distributions(), "update   +25 %")) << view_.distributions();
  EXPECT_TRUE(has_text(view_.distributions(), "base, filled: median 4 ms")) << view_.distributions();
  EXPECT_TRUE(has_text(view_.distributions(), "new, outlined: median 5 ms")) << view_.distributions();
  EXPECT_GT(view_.marks().distributions.width(), 100);
  screen_.key(ImGuiKey_Escape);
  EXPECT_FALSE(changed().marked_site());
  EXPECT_EQ(view_.distributions(), "");
}

TEST_F(Compared, TheVerdictsAreThoseOfTheDurations) {
  const auto rows = verdicts();
  ASSERT_EQ(rows.count("update"), 1U) << view_.copied(panel::CopyAs::csv);
  EXPECT_EQ(rows.at("update")[1], "worse here");
  EXPECT_EQ(rows.at("update")[2], "4000000") << "two fifths of a frame";
  EXPECT_EQ(rows.at("update")[3], "5000000");
  EXPECT_EQ(rows.at("update")[4], "0.25");
  EXPECT_EQ(rows.at("update")[7], "100");
  EXPECT_EQ(rows.at("update")[8], "60");
  EXPECT_EQ(rows.at("frames (main)")[1], "worse here");
  EXPECT_EQ(rows.at("span draw")[1], "worse here");
  EXPECT_EQ(rows.at("metric load")[1], "differs here") << "the first 60 of 100 values";
  const std::regex load("load .* -[0-9.]{4} % .* -[0-9.]{4} to -[0-9.]{4} %");
  EXPECT_TRUE(std::regex_search(view_.copied(panel::CopyAs::text), load)) << "the digits of the change";
  // By keys: down to a row, which marks its site in both.
  screen_.move(place_in(view_.base().marks().flame).x, place_in(view_.base().marks().flame).y);
  click(view_.marks().arrange);
  EXPECT_TRUE(view_.is_beside());
  EXPECT_LE(view_.base().marks().flame.right, view_.changed().marks().flame.left);
  for (int i = 0; i < 3; ++i) {
    screen_.key(ImGuiKey_DownArrow);
    ASSERT_TRUE(view_.chosen().has_value());
    const stats::ThingName& name = view_.judged()->comparison.things[*view_.chosen()].name;
    if (name.kind == stats::ThingKind::site) {
      EXPECT_EQ(base().data().provider().site(base().marked_site()).name, name.name);
      EXPECT_EQ(changed().data().provider().site(changed().marked_site()).name, name.name);
    }
  }
  screen_.type("F");
  screen_.type("rend");
  screen_.frames(2);
  EXPECT_EQ(verdicts().size(), 2U) << "the line of titles, and render";
}

TEST_F(Compared, TheVerdictsAreThoseOfKymoCompare) {
  const TemporaryDirectory directory;
  write_file(directory / "base.kymo", base_bytes_);
  write_file(directory / "new.kymo", new_bytes_);
  const CaptureComparison expected = compare_captures({directory / "base.kymo"}, {directory / "new.kymo"});
  ASSERT_NE(view_.judged(), nullptr);
  const auto& things = view_.judged()->comparison.things;
  ASSERT_EQ(things.size(), expected.things.size());
  for (std::size_t i = 0; i < things.size(); ++i) {
    EXPECT_EQ(things[i].name, expected.things[i].name);
    EXPECT_EQ(things[i].verdict, expected.things[i].verdict) << things[i].name.name;
    EXPECT_EQ(things[i].adjusted_p_value, expected.things[i].adjusted_p_value) << things[i].name.name;
    EXPECT_EQ(things[i].base.median, expected.things[i].base.median) << things[i].name.name;
    EXPECT_EQ(things[i].changed.p95, expected.things[i].changed.p95) << things[i].name.name;
  }
}

TEST_F(Compared, DistributionsCountEveryValueOnBothSides) {
  ASSERT_NE(view_.judged(), nullptr);
  for (const stats::ComparedThing& thing : view_.judged()->comparison.things) {
    const panel::DistributionView view(thing);
    const auto sums = [&view, &thing](const stats::ThingSamples& samples, const panel::DistributionView::Bins& bins) {
      std::map<std::size_t, double> expected;
      std::size_t count = 0;
      for (const auto& run : samples.runs) {
        count += run.size();
        for (const double value : run) {
          for (std::size_t bin = 0; bin < bins.size(); ++bin) {
            const double low = view.axis().value_at(static_cast<double>(bin) / static_cast<double>(bins.size()));
            const double high = view.axis().value_at(static_cast<double>(bin + 1) / static_cast<double>(bins.size()));
            const bool is_last = bin + 1 == bins.size();
            // What is on an edge may be in either.
            if (value > low * (1 + 1e-12) && (value < high * (1 - 1e-12) || is_last) && value <= high) {
              expected[bin] += 1;
            }
          }
        }
      }
      for (std::size_t bin = 0; bin < bins.size(); ++bin) {
        EXPECT_LE(expected[bin] / static_cast<double>(count), bins[bin] + 1e-9) << thing.name.name << ' ' << bin;
      }
      EXPECT_LE(std::accumulate(bins.begin(), bins.end(), 0.0), 1 + 1e-9);
      return std::accumulate(bins.begin(), bins.end(), 0.0);
    };
    EXPECT_GT(sums(*thing.base_samples, view.base()), 0.95) << thing.name.name;
    EXPECT_GT(sums(*thing.changed_samples, view.changed()), 0.95) << thing.name.name;
  }
}

TEST_F(Compared, WhatIsMeasuredOnOneSideIsMeasuredOnTheOther) {
  const panel::Area flame = view_.changed().marks().flame;
  screen_.drag(place_in(flame, 0.2F, 0.5F), place_in(flame, 0.4F, 0.5F), 1);
  ASSERT_TRUE(base().measured() && changed().measured());
  EXPECT_EQ(base().measured()->start_ns - Game::start_ns, changed().measured()->start_ns - SlowerGame::start_ns);
  EXPECT_EQ(base().measured()->end_ns - Game::start_ns, changed().measured()->end_ns - SlowerGame::start_ns);
  EXPECT_GT(base().measured()->end_ns, base().measured()->start_ns);
}

TEST_F(Compared, EveryViewStandsStillOnceItIsLinked) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < rounds(60U); ++round) {
    const panel::Align align = static_cast<panel::Align>(random() % 3);
    view_.align_by(align);
    const bool of_base = random() % 2 == 0;
    panel::ViewState& state = of_base ? base() : changed();
    const panel::TimeAxis& axis = state.flame();
    const auto span = static_cast<std::uint64_t>(axis.bounds().end_ns - axis.bounds().start_ns);
    const std::int64_t a = axis.bounds().start_ns + static_cast<std::int64_t>(random() % span);
    const std::int64_t length = 1 + static_cast<std::int64_t>(random() % (round % 2 == 0 ? span : 30'000'000U));
    state.flame().show({a, a + length});
    screen_.frames(3);
    const TimeRange before_base = base().flame().range();
    const TimeRange before_new = changed().flame().range();
    screen_.frames(4);
    EXPECT_EQ(base().flame().range().start_ns, before_base.start_ns) << round;
    EXPECT_EQ(changed().flame().range().start_ns, before_new.start_ns) << round;
    EXPECT_EQ(base().flame().range().end_ns, before_base.end_ns) << round;
    EXPECT_EQ(changed().flame().range().end_ns, before_new.end_ns) << round;
    EXPECT_EQ(base().flame().length_ns(), changed().flame().length_ns()) << round;
  }
}

TEST_F(Compared, FrameBarsHaveOneScale) {
  EXPECT_EQ(view_.base().marks().bars_ms, view_.changed().marks().bars_ms);
  EXPECT_NEAR(view_.base().marks().bars_ms, 56.25 * 1.08, 1e-6) << "45 ms and a quarter";
}

TEST_F(Compared, KeysOfTablesThatAreNotThereDoNothing) {
  screen_.move(place_in(view_.base().marks().flame).x, place_in(view_.base().marks().flame).y);
  for (const char* const keys : {"/", "N", "B", "T", "b", "t", "1", "?", "?", "t", "k", "x", "u", "U", "n", "p", "m"}) {
    screen_.type(keys);
  }
  EXPECT_EQ(view_.base().tab(), "");
  EXPECT_EQ(view_.changed().tab(), "");
}

TEST_F(Compared, AnyInputIsTaken) {
  std::mt19937 random(17);
  const char keys[] = " wsadWSADfcz0npiImMkxXuUoyYtTbBNF?hHP[]()123456789/qe";
  const auto share = [&random] { return static_cast<float>(random() % 1000) / 1000; };
  for (unsigned round = 0; round < rounds(120U); ++round) {
    const ImVec2 at(1920 * share(), 1080 * share());
    switch (random() % 6) {
      case 0:
        screen_.click(at.x, at.y, static_cast<int>(random() % 2));
        break;
      case 1:
        screen_.drag(at, ImVec2(1920 * share(), 1080 * share()), static_cast<int>(random() % 2), random() % 2 == 0);
        break;
      case 2:
        screen_.wheel(at.x, at.y, share() * 6 - 3, random() % 2 == 0);
        break;
      case 3:
        screen_.key(random() % 2 == 0 ? ImGuiKey_Escape : ImGuiKey_DownArrow, random() % 2 == 0);
        break;
      default: {
        const char text[] = {keys[random() % (sizeof keys - 1)], 0};
        screen_.move(at.x, at.y);
        screen_.type(text);
        break;
      }
    }
    ASSERT_EQ(base().flame().length_ns(), changed().flame().length_ns()) << round;
  }
}

TEST(ComparedGrowth, VerdictsFollowACaptureThatGrowsAndTheChosenRowStays) {
  const TemporaryDirectory directory;
  const std::string path = directory / "after.kymo";
  const Bytes base_bytes = write_capture(usual_batches(), true);
  const std::vector<EventBatch> batches = SlowerGame::batches();
  capture::CaptureWriter writer(path, sample_options());
  writer.write(batches[0]);
  writer.write(batches[1]);
  const panel::ComparedCapture grows{std::make_shared<panel::TimelineBlocks>(Timeline(path)),
                                     "after.kymo",
                                     {1, [path](std::size_t) { return Timeline(path); }}};
  panel::CompareView view(compared(base_bytes, "before.kymo"), grows, {}, {});
  Screen screen([&view] { view.draw(); });
  const auto frames_of_new = [&view]() -> std::uint64_t {
    if (view.judged() != nullptr) {
      for (const stats::ComparedThing& thing : view.judged()->comparison.things) {
        if (thing.name.kind == stats::ThingKind::site && thing.name.name == "render") {
          return thing.changed.count;
        }
      }
    }
    return 0;
  };
  const auto counts = [&](std::uint64_t frames) {
    return wait_until([&] {
      static_cast<void>(view.poll());
      screen.frame();
      return frames_of_new() == frames;
    });
  };
  ASSERT_TRUE(counts(20));
  screen.move(place_in(view.base().marks().flame).x, place_in(view.base().marks().flame).y);
  const auto name_of_chosen = [&view] { return view.judged()->comparison.things[view.chosen().value()].name.name; };
  for (int i = 0; i < 20 && name_of_chosen() != "render"; ++i) {
    screen.key(ImGuiKey_DownArrow);
  }
  ASSERT_EQ(name_of_chosen(), "render");
  for (std::size_t i = 2; i < batches.size(); ++i) {
    writer.write(batches[i]);
  }
  ASSERT_TRUE(counts(60));
  EXPECT_EQ(name_of_chosen(), "render");
  screen.frame();
  EXPECT_TRUE(has_text(view.distributions(), "render")) << view.distributions();
  EXPECT_TRUE(has_text(view.copied(panel::CopyAs::csv), ",60,")) << view.copied(panel::CopyAs::csv);
}

class NarrowlyCompared : public Compared {
 protected:
  NarrowlyCompared() : Compared(ImVec2(390, 700)) {}
};

TEST_F(NarrowlyCompared, EverythingIsOnTheScreen) {
  for (const panel::PanelView* const side : {&view_.base(), &view_.changed()}) {
    EXPECT_GT(side->marks().flame.height(), 20);
    EXPECT_LE(side->marks().flame.right, 390);
  }
  for (int i = 0; i < 6; ++i) {
    screen_.key(ImGuiKey_DownArrow);
  }
  EXPECT_NE(view_.distributions(), "");
  EXPECT_LE(view_.marks().table.bottom, 700);
}

TEST(ComparedDamage, WhatCannotBeReadIsSaidAndTheRestIsShown) {
  const Bytes good = write_capture(usual_batches(), true);
  for (std::size_t cut = 600; cut < good.size(); cut += good.size() / 12) {
    Bytes damaged = good;
    damaged[cut] ^= std::byte{0x5A};
    panel::ComparedCapture base = compared(good, "good");
    panel::ComparedCapture changed = compared(damaged, "damaged");
    base.runs.open = [](std::size_t) -> Timeline { throw std::runtime_error("it went away"); };
    panel::CompareView view(base, changed, {}, immediate_data());
    Screen screen([&view] { view.draw(); });
    screen.frames(4);
    EXPECT_EQ(view.judged(), nullptr);
    EXPECT_GT(view.base().marks().flame.height(), 100);
  }
}

TEST(Alignment, SaturatesAndFindsWhatHasTheSameNumber) {
  using panel::Align;
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const TimeRange far = panel::range_there({least, most}, {5, -5, 0});
  EXPECT_EQ(far.start_ns, least);
  EXPECT_EQ(far.end_ns, most - 10);
  EXPECT_EQ(panel::range_there({least, most}, {most, least, 0}).end_ns, least);
  const panel::MarkList here{{10, 20, 30}, {{1, 12}, {7, 25}}};
  const panel::MarkList there{{100, 200}, {{7, 70}}};
  EXPECT_FALSE(panel::find_anchors(Align::frame, {}, there, 0));
  EXPECT_EQ(panel::find_anchors(Align::frame, here, there, 25)->there_ns, 200);
  EXPECT_EQ(panel::find_anchors(Align::frame, here, there, 0)->there_ns, 100) << "before the first one";
  EXPECT_FALSE(panel::find_anchors(Align::frame, here, there, 31)) << "frame 3 is here alone";
  EXPECT_EQ(panel::find_anchors(Align::sync_point, here, there, 99)->there_ns, 70);
  EXPECT_FALSE(panel::find_anchors(Align::sync_point, here, there, 13)) << "sync point 1 is here alone";
  EXPECT_FALSE(panel::find_anchors(Align::sync_point, {}, there, 13));
  EXPECT_EQ(panel::frame_of(here, 2)->start_ns, 20);
  EXPECT_EQ(panel::frame_of(here, 2)->duration_ns, 10);
  EXPECT_FALSE(panel::frame_of(here, 3)) << "it did not end";
  EXPECT_FALSE(panel::frame_of(here, 0));
}

TEST(Alignment, MarksOnBothSidesOfLostEventsAreNoFrame) {
  using panel::Align;
  // Frames 1 and 2, a hole, frame 3.
  const panel::MarkList here{{10, 20, 30, 500, 510}, {}, {3}};
  const panel::MarkList there{{100, 200, 300, 400}, {}};
  EXPECT_EQ(panel::frame_of(here, 2)->start_ns, 20);
  EXPECT_EQ(panel::frame_of(here, 3)->start_ns, 500);
  EXPECT_EQ(panel::frame_of(here, 3)->duration_ns, 10);
  EXPECT_FALSE(panel::frame_of(here, 4));
  EXPECT_EQ(panel::find_anchors(Align::frame, here, there, 505)->number, 3U);
  EXPECT_EQ(panel::find_anchors(Align::frame, here, there, 505)->there_ns, 300);
  EXPECT_EQ(panel::find_anchors(Align::frame, there, here, 350)->there_ns, 500);
}

}  // namespace
}  // namespace kymo::test
