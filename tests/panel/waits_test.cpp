// Fibers, locks, and the waits for them: said, told from work, and whom they waited for.
#include "interaction.hpp"

namespace kymo::test {
namespace {

constexpr std::int64_t us = 1'000;
constexpr TrackId fiber_track{4};
constexpr TrackId lock_track{5};
constexpr SiteId wait_site{5};
constexpr SiteId work_site{6};
constexpr unsigned wait_frame = 20;
constexpr unsigned work_frame = 30;
constexpr const char* holder = "push (queue.hpp:9)";

/// In one frame a fiber waits for a lock, in another one it works under a name of the same length. The worker's jobs
/// are runs of the fiber.
std::vector<EventBatch> waiting_game() {
  std::vector<EventBatch> batches = Game().batches();
  Declarations& declared = batches.front().declarations;
  declared.tracks.push_back({fiber_track, TrackKind::thread, ProcessId{1}, 0, "task", TrackRole::fiber});
  declared.tracks.push_back({lock_track, TrackKind::async, ProcessId{1}, 0, "queue", TrackRole::lock});
  declared.sites[Game::job_site.index()].name = "task";
  declared.sites[Game::job_site.index()].role = SiteRole::fiber_run;
  SiteDeclaration site;
  site.id = wait_site;
  site.name = "wait for queue";
  site.function = holder;
  site.file = "game.cpp";
  site.line = 3;
  site.role = SiteRole::wait;
  declared.sites.push_back(site);
  site.id = work_site;
  site.name = "look for queue";
  site.role = SiteRole::work;
  declared.sites.push_back(site);
  declared.names.push_back({NameId{3}, "hold queue"});
  declared.names.push_back({NameId{4}, holder});
  std::uint64_t sequence = 0;
  for (const auto& [frame, waits] : {std::pair{wait_frame, true}, std::pair{work_frame, false}}) {
    const std::int64_t start_ns = Game::start_of(frame);
    EventBatch& batch = batches[frame / Game().frames_in_block];
    ScopeRun& run = batch.runs.emplace_back();
    run.track = fiber_track;
    run.first_sequence = sequence;
    run.events.push_back({start_ns + 500 * us, waits ? wait_site : work_site, 0, 0});
    run.events.push_back({start_ns + 2'000 * us, {}, 0, 0});
    run.end_sequence = sequence += 2;
    SpanEvent hold;
    hold.track = lock_track;
    hold.name = NameId{3};
    hold.category = NameId{4};
    hold.start_ns = start_ns + 100 * us;
    hold.duration_ns = 1'900 * us;
    batch.spans.push_back(hold);
  }
  return batches;
}

class Waits : public Interaction {
 protected:
  Waits() : Interaction(waiting_game()) { click_bar(wait_frame); }

  [[nodiscard]] float x_after(std::int64_t after_us) { return flame_x(Game::start_of(wait_frame) + after_us * us); }
  /// The line of a track's title.
  [[nodiscard]] unsigned line_of(TrackId track) {
    for (const panel::FlameTrack& laid_out : view_.state().flame_layout({}).tracks) {
      if (laid_out.track == track) {
        return laid_out.line;
      }
    }
    ADD_FAILURE() << "track " << track.value() << " is not there";
    return 0;
  }
};

TEST_F(Waits, TheLocksTabNamesTheLockAndItsHolder) {
  view_.state().resume();
  ASSERT_TRUE(view_.open_tab("locks"));
  screen_.frames(3);
  EXPECT_EQ(view_.copied_tab(panel::CopyAs::csv),
            "lock,held by,waits,total,mean,p95,longest\n"
            "wait for queue,push (queue.hpp:9),1,1500000,1500000,1500000,1500000\n");
}

TEST_F(Waits, AWaitTellsWhoHeldTheLockAndWhichThreadTheFiberWasOn) {
  const float y = flame_y(line_of(fiber_track) + 1);
  screen_.move(x_after(1'000), y);
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "wait for queue")) << view_.tip();
  EXPECT_TRUE(has_text(view_.tip(), "the lock was held by push (queue.hpp:9)")) << view_.tip();
  EXPECT_TRUE(has_text(view_.tip(), "then on worker")) << view_.tip();
  screen_.click(x_after(1'000), y);
  screen_.frame();
  EXPECT_TRUE(has_text(view_.facts(), "the lock was held by push (queue.hpp:9)")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "declared at   game.cpp:3")) << view_.facts();
}

TEST_F(Waits, AHoldTellsItsHolder) {
  screen_.click(x_after(1'000), flame_y(line_of(lock_track) + 1));
  screen_.frame();
  EXPECT_TRUE(has_text(view_.facts(), "hold queue")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "by push (queue.hpp:9)")) << view_.facts();
}

TEST_F(Waits, FibersAndLocksAreRowsThatAreSaidToBeSuch) {
  for (const auto& [track, title, what] :
       {std::tuple{fiber_track, "task  (fiber)", "a fiber"}, std::tuple{lock_track, "queue  (lock)", "a lock"}}) {
    screen_.move(view_.marks().titles.left + 20, flame_y(line_of(track)));
    screen_.frame();
    EXPECT_TRUE(has_text(view_.tip(), title)) << view_.tip();
    EXPECT_TRUE(has_text(view_.tip(), what)) << view_.tip();
  }
}

TEST_F(Waits, AreStripedSoThatTheyAreToldFromWorkWithoutColour) {
  screen_.move(1, 1);
  screen_.frames(2);
  const int waiting = screen_.checked_vertices();
  click_bar(work_frame);
  screen_.move(1, 1);
  screen_.frames(2);
  EXPECT_GT(waiting, screen_.checked_vertices() + 100);
}

}  // namespace
}  // namespace kymo::test
