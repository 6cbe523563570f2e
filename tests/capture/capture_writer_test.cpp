#include "capture/write/capture_writer.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "../../benchmarks/generator.hpp"
#include "capture/capture_fixture.hpp"
#include "capture/format/block.hpp"
#include "capture/merge/merge.hpp"
#include "capture/sample_batches.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "capture/summary/summary.hpp"
#include "capture/write/block_ring.hpp"
#include "support/flight_recording.hpp"
#include "support/memory_destination.hpp"

namespace kymo::capture {
namespace {

using test::BatchSource;
using test::Bytes;
using test::describe;

// Takes so many bytes and fails from then on, as a full disk does, until there is more room.
class SmallDisk final : public BlockDestination {
 public:
  SmallDisk(std::shared_ptr<Bytes> bytes, const std::size_t& room) : bytes_(std::move(bytes)), room_(room) {}
  void append(std::span<const std::byte> bytes) override {
    if (bytes_->size() + bytes.size() > room_) {
      throw WriteError("the disk is full");
    }
    bytes_->insert(bytes_->end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::shared_ptr<Bytes> bytes_;
  const std::size_t& room_;
  std::string name_ = "small disk";
};

std::uint64_t count_opens(const std::vector<EventBatch>& batches) {
  std::uint64_t opens = 0;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      for (const ScopeEvent& event : run.events) {
        opens += event.is_open() ? 1U : 0U;
      }
    }
  }
  return opens;
}

// Writes what can be written.
void write_all(CaptureWriter& writer, const std::vector<EventBatch>& batches) {
  for (const EventBatch& batch : batches) {
    try {
      writer.write(batch);
    } catch (const WriteError&) {
    }
  }
}

TrackTotals sum_of(const CaptureEnd& end) {
  TrackTotals sum;
  for (const TrackTotals& track : end.tracks) {
    sum.recorded_scopes += track.recorded_scopes;
    sum.dropped_scopes += track.dropped_scopes;
  }
  return sum;
}

std::vector<EventBatch> ordinary_batches(std::size_t count, std::size_t events, std::uint32_t seed = 1) {
  BatchSource source(seed);
  std::vector<EventBatch> batches;
  for (std::size_t i = 0; i < count; ++i) {
    batches.push_back(source.ordinary(events));
  }
  return batches;
}

TEST(CaptureWriter, WhatIsWrittenIsReadBackWithEitherCodec) {
  const std::vector<EventBatch> batches = ordinary_batches(5, 3000);
  for (const bool zstd : {false, true}) {
    auto options = test::sample_options();
    options.codec = zstd ? make_zstd_codec() : nullptr;
    const Bytes bytes = test::write_capture(batches, true, std::move(options));
    const CaptureReader reader = test::open_bytes(bytes);
    const std::vector<std::string> events = test::read_events(reader);
    ASSERT_EQ(events.size(), batches.size());
    for (std::size_t i = 0; i < batches.size(); ++i) {
      EXPECT_EQ(events[i], describe(batches[i]));
    }
    EXPECT_TRUE(reader.is_closed());
    EXPECT_TRUE(reader.damages().empty());
  }
}

TEST(CaptureWriter, TheHeaderAndTheEndSayWhatTheyWereTold) {
  auto bytes = std::make_shared<Bytes>();
  CaptureWriter writer(std::make_unique<MemoryDestination>(bytes), test::sample_options());
  std::uint64_t opens = 0;
  std::uint64_t end_sequence = 0;
  for (EventBatch& batch : ordinary_batches(3, 1000)) {
    batch.runs[0].dropped_scopes = 7;
    batch.runs[0].dropped_others = 8;
    for (const ScopeEvent& event : batch.runs[0].events) {
      opens += event.is_open() ? 1U : 0U;
    }
    end_sequence = batch.runs[0].end_sequence;
    writer.write(batch);
  }
  writer.set_closing_fact("collector_cpu_ns", 1);
  writer.set_closing_fact("collector_cpu_ns", 123456789);
  writer.finish();
  EXPECT_EQ(writer.bytes_written(), bytes->size());

  const CaptureReader reader = test::open_bytes(*bytes);
  EXPECT_EQ(reader.header().recorder, "kymo test");
  EXPECT_EQ(reader.header().spool_id, "0123456789abcdef");
  EXPECT_EQ(reader.header().clock_source, "tsc");
  EXPECT_EQ(reader.header().clock_step_ns, 0.375);
  EXPECT_EQ(reader.header().owner_pid, 4711U);
  ASSERT_EQ(reader.declarations().processes.size(), 1U);
  EXPECT_EQ(reader.declarations().processes[0].host, "testhost");
  EXPECT_EQ(reader.declarations().sites.size(), 5U);
  ASSERT_EQ(reader.end().tracks.size(), 1U);
  EXPECT_EQ(reader.end().tracks[0].recorded_scopes, opens);
  EXPECT_EQ(reader.end().tracks[0].dropped_scopes, 7U);
  EXPECT_EQ(reader.end().tracks[0].dropped_others, 8U);
  EXPECT_EQ(reader.end().tracks[0].end_sequence, end_sequence);
  ASSERT_EQ(reader.end().facts.size(), 1U);
  EXPECT_EQ(reader.end().facts[0].first, "collector_cpu_ns");
  EXPECT_EQ(reader.end().facts[0].second, 123456789U);
}

TEST(CaptureWriter, DeclarationsOfAnyKindAndNumberComeBack) {
  BatchSource source(3);
  EventBatch batch;
  batch.declarations = source.wild_declarations(12'000);
  // Ids that occur once, so that nothing is replaced.
  const auto number_ids = [](auto& rows) {
    std::uint32_t id = 0;
    for (auto& row : rows) {
      row.id = decltype(row.id){++id};
    }
  };
  number_ids(batch.declarations.processes);
  number_ids(batch.declarations.names);
  number_ids(batch.declarations.modules);
  number_ids(batch.declarations.sites);
  number_ids(batch.declarations.tracks);
  number_ids(batch.declarations.metrics);
  number_ids(batch.declarations.frame_streams);
  number_ids(batch.declarations.threads);
  number_ids(batch.declarations.functions);
  number_ids(batch.declarations.stacks);
  std::uint32_t process = 0;
  for (InfoDeclaration& info : batch.declarations.infos) {
    info.process = ProcessId{++process};
  }
  for (const bool finish : {false, true}) {
    const Bytes bytes = test::write_capture({batch}, finish, {});
    const CaptureReader reader = test::open_bytes(bytes);
    EXPECT_EQ(describe(reader.declarations()), describe(batch.declarations));
  }
}

TEST(CaptureWriter, LaterDeclarationsReplaceEarlierOnesInPlace) {
  EventBatch first;
  first.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 10, "before"});
  first.declarations.tracks.push_back({TrackId{2}, TrackKind::thread, ProcessId{1}, 11, "other"});
  first.declarations.infos.push_back({ProcessId{1}, "key", "old"});
  EventBatch second;
  second.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 10, "after"});
  second.declarations.infos.push_back({ProcessId{1}, "key", "new"});
  for (const bool finish : {false, true}) {
    const Bytes bytes = test::write_capture({first, second}, finish);
    const CaptureReader reader = test::open_bytes(bytes);
    ASSERT_EQ(reader.declarations().tracks.size(), 2U);
    EXPECT_EQ(reader.declarations().tracks[0].name, "after");
    EXPECT_EQ(reader.declarations().tracks[1].name, "other");
    EXPECT_EQ(reader.declarations().infos.back().value, "new");
  }
}

TEST(CaptureWriter, AnExistingFileIsNeverTouched) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  test::write_file(path, Bytes(3, std::byte{7}));
  CaptureWriter first(path, test::sample_options());
  EXPECT_EQ(first.path(), directory / "run-1.kymo");
  CaptureWriter second(path, test::sample_options());
  EXPECT_EQ(second.path(), directory / "run-2.kymo");
  EXPECT_EQ(test::read_file(path), Bytes(3, std::byte{7}));
  first.finish();
  EXPECT_TRUE(CaptureReader(first.path()).is_closed());
}

TEST(CaptureWriter, ADirectoryThatIsNotThereIsNamedInTheError) {
  try {
    CaptureWriter writer("/nowhere/at/all/run.kymo", {});
    FAIL();
  } catch (const WriteError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all/run.kymo"), std::string::npos) << error.what();
  }
}

TEST(CaptureWriter, AFullDiskLeavesEverythingBeforeItReadable) {
  const std::vector<EventBatch> batches = ordinary_batches(20, 500);
  const std::size_t whole = test::write_capture(batches).size();
  for (std::size_t room = 2000; room < whole; room += whole / 17) {
    auto bytes = std::make_shared<Bytes>();
    CaptureWriter writer(std::make_unique<SmallDisk>(bytes, room), test::sample_options());
    std::size_t written = 0;
    try {
      for (const EventBatch& batch : batches) {
        writer.write(batch);
        ++written;
      }
      writer.finish();  // which does with little room
    } catch (const WriteError&) {
    }
    const CaptureReader reader = test::open_bytes(*bytes);
    const auto events = test::read_events(reader);
    ASSERT_EQ(events.size(), written);
    for (std::size_t i = 0; i < written; ++i) {
      EXPECT_EQ(events[i], describe(batches[i]));
    }
    EXPECT_TRUE(reader.damages().empty());
  }
}

TEST(CaptureWriter, WhatAFullDiskLostIsStatedOnceThereIsRoom) {
  const std::vector<EventBatch> batches = ordinary_batches(30, 500);
  const std::vector<EventBatch> rest(batches.begin() + 20, batches.end());
  const std::size_t whole = test::write_capture(batches).size();
  for (std::size_t first_room = 2000; first_room < whole / 2; first_room += whole / 17) {
    std::size_t room = first_room;
    auto bytes = std::make_shared<Bytes>();
    CaptureWriter writer(std::make_unique<SmallDisk>(bytes, room), test::sample_options());
    write_all(writer, {batches.begin(), batches.begin() + 20});
    const std::uint64_t lost = writer.unwritten().dropped_scopes;
    EXPECT_GT(lost, 0U);
    room = 2 * whole;
    write_all(writer, rest);
    EXPECT_EQ(writer.unwritten().dropped_scopes, lost);
    const Bytes growing = *bytes;
    writer.finish();

    const CaptureReader reader = test::open_bytes(*bytes);
    EXPECT_TRUE(reader.is_closed());
    EXPECT_TRUE(reader.damages().empty());
    const TrackTotals sum = sum_of(reader.end());
    EXPECT_EQ(sum.dropped_scopes, lost);
    EXPECT_EQ(sum.recorded_scopes + sum.dropped_scopes, count_opens(batches));
    const auto events = test::read_events(reader);
    // The first of them states the loss.
    for (std::size_t i = 1; i < rest.size(); ++i) {
      EXPECT_EQ(events[events.size() - rest.size() + i], describe(rest[i]));
    }
    // Whoever reads before the end sees it too, and what was declared in batches that were lost.
    const CaptureReader early = test::open_bytes(growing);
    EXPECT_EQ(early.declarations().sites.size(), 5U);
    EventBatch batch;
    std::uint64_t stated = 0;
    for (const BlockInfo& block : early.blocks()) {
      if (block.kind != BlockKind::events || !early.read(block, batch)) {
        continue;
      }
      EXPECT_NE(batch.runs[0].track, unwritten_track) << "a block names all tracks with open scopes";
      stated += batch.runs.back().track == unwritten_track ? batch.runs.back().dropped_scopes : 0;
    }
    EXPECT_EQ(stated, lost);
  }
}

TEST(CaptureWriter, FramesBreakWhereAFullDiskLostSomeAndOpenScopesGoOn) {
  using Flight = test::FlightRecording;
  std::size_t room = 1'000'000;
  auto bytes = std::make_shared<Bytes>();
  CaptureWriter writer(std::make_unique<SmallDisk>(bytes, room), Flight::options(nullptr));
  for (std::int64_t number = 0; number < 6; ++number) {
    room = number == 2 || number == 3 ? bytes->size() : 1'000'000;
    write_all(writer, {Flight::batch(number)});
  }
  writer.finish();
  const CaptureReader reader = test::open_bytes(*bytes);
  EventBatch batch;
  std::vector<std::int64_t> breaks;
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind == BlockKind::events) {
      ASSERT_TRUE(reader.read(block, batch));
      EXPECT_EQ(batch.runs.at(0).track, Flight::track) << "or it would state that no scope is open";
      for (const FrameMark& mark : batch.frame_marks) {
        if (mark.is_break) {
          breaks.push_back(mark.time_ns);
        }
      }
    }
    if (block.kind == BlockKind::summary && block.level == total_level) {
      BlockPayload payload;
      ASSERT_TRUE(reader.read_payload(block, payload));
      const Summary total = decode_summary({payload.data(), payload.size()});
      EXPECT_EQ(total.frame_streams.begin()->frame_times.max_ns(), Flight::frame_ns);
    }
  }
  EXPECT_EQ(breaks, std::vector<std::int64_t>{4 * Flight::frames_a_batch * Flight::frame_ns});
}

EventBatch batch_of(std::int64_t start_ns, std::vector<OpenScope> open, const ScopeEvents& events) {
  EventBatch batch;
  batch.start_ns = start_ns;
  batch.end_ns = start_ns + 100;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  run.open_at_start = std::move(open);
  run.events = events;
  return batch;
}

TEST(CaptureWriter, ScopesThatAFullDiskHadNoRoomForAndThatOutlastItAreRecordedWhole) {
  constexpr SiteId site{1};
  std::size_t room = 1'000'000;
  auto bytes = std::make_shared<Bytes>();
  CaptureWriter writer(std::make_unique<SmallDisk>(bytes, room), test::sample_options());
  writer.write(batch_of(0, {}, {{10, site, 0, 0}, {20, site, 1, 0}}));
  room = 0;
  // The inner scope ends, another one comes in its place, and a third one in that.
  write_all(writer,
            {batch_of(100, {{10, site}, {20, site}}, {{110, {}, 1, 0}, {120, site, 1, 0}}),
             batch_of(200, {{10, site}, {120, site}}, {{210, site, 2, 0}, {220, site, 3, 0}, {230, {}, 3, 0}})});
  EXPECT_EQ(writer.unwritten().dropped_scopes, 3U);
  room = 1'000'000;
  writer.write(batch_of(300, {{10, site}, {120, site}, {210, site}}, {{310, {}, 2, 0}, {320, {}, 0, 0}}));
  EXPECT_EQ(writer.unwritten().dropped_scopes, 1U);
  // A next loss without scopes of its own opens nothing again.
  writer.write(batch_of(400, {}, {{410, site, 0, 0}}));
  room = 0;
  write_all(writer, {batch_of(500, {{410, site}}, {{510, {}, 0, 0}, {520, site, 0, 0}, {530, {}, 0, 0}})});
  room = 1'000'000;
  writer.write(batch_of(600, {}, {}));
  writer.finish();

  const CaptureReader reader = test::open_bytes(*bytes);
  const TrackTotals sum = sum_of(reader.end());
  EXPECT_EQ(sum.recorded_scopes, 5U);
  EXPECT_EQ(sum.dropped_scopes, 2U);
  EventBatch batch;
  std::uint64_t opened = 0;
  std::vector<std::int64_t> ended_whole;
  ScopeStack stack;
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind == BlockKind::events) {
      ASSERT_TRUE(reader.read(block, batch));
      opened += count_opens({batch});
      match(batch.runs[0], stack, [&](const ScopeSpan& span) {
        if (span.start_ns == 120 || span.start_ns == 210) {
          ended_whole.push_back(span.start_ns + span.duration_ns);
        }
      });
    }
  }
  EXPECT_EQ(opened, 5U);
  EXPECT_EQ(ended_whole, (std::vector<std::int64_t>{310, 320}));
}

TEST(CaptureWriter, WhatIsStatedAsLostIsNotLeftToRecovery) {
  std::size_t room = 1'000'000;
  auto bytes = std::make_shared<Bytes>();
  CaptureWriter writer(std::make_unique<SmallDisk>(bytes, room), test::sample_options());
  EventBatch lost = batch_of(100, {}, {{110, SiteId{1}, 0, 0}, {120, {}, 0, 0}});
  lost.runs[0].end_sequence = 20;
  room = 0;
  write_all(writer, {lost});
  room = 1'000'000;
  EventBatch of_another_track = batch_of(200, {}, {{210, SiteId{1}, 0, 0}});
  of_another_track.runs[0].track = TrackId{2};
  writer.write(of_another_track);
  const CaptureReader reader = test::open_bytes(*bytes);
  EventBatch batch;
  ASSERT_EQ(reader.blocks().back().kind, BlockKind::events);
  ASSERT_TRUE(reader.read(reader.blocks().back(), batch));
  const auto named =
      std::find_if(batch.runs.begin(), batch.runs.end(), [](const ScopeRun& run) { return run.track == TrackId{1}; });
  ASSERT_NE(named, batch.runs.end());
  EXPECT_EQ(named->end_sequence, 20U);
}

/// Counts the blocks that a flight recorder's ring holds whenever something is appended to the file.
class RingWatch final : public BlockDestination {
 public:
  RingWatch(std::string directory, std::vector<std::size_t>& held, const bool& is_full)
      : directory_(std::move(directory)), held_(held), is_full_(is_full) {}
  void append(std::span<const std::byte> /*bytes*/) override {
    held_.push_back(read_block_ring("ring", directory_).blocks.size());
    if (is_full_) {
      throw WriteError("the disk is full");
    }
  }
  [[nodiscard]] const std::string& name() const override { return directory_; }

 private:
  std::string directory_;
  std::vector<std::size_t>& held_;
  const bool& is_full_;
};

// A kill in between must not leave events whose names are nowhere.
TEST(CaptureWriter, AFlightRecordersFileHasTheNamesBeforeItsRingHasTheEvents) {
  using Flight = test::FlightRecording;
  const test::TemporaryDirectory directory("/dev/shm");
  const std::string path = directory.path().string();
  std::vector<std::size_t> held;
  bool is_full = false;
  CaptureWriter writer(std::make_unique<RingWatch>(path, held, is_full), Flight::options(Flight::ring("ring", path)));
  std::vector<EventBatch> batches = {Flight::batch(0), Flight::batch(1), Flight::batch(2)};
  for (EventBatch& batch : batches) {
    batch.declarations = Flight::declarations();
  }
  write_all(writer, {batches[0], batches[1]});
  EXPECT_EQ(held, (std::vector<std::size_t>{0, 0, 1})) << "with the header, and with each batch's names";
  is_full = true;
  write_all(writer, {batches[2]});
  EXPECT_EQ(writer.unwritten().dropped_scopes, 0U);
  const HeldBlocks ring = read_block_ring("ring", path);
  ASSERT_FALSE(ring.blocks.empty());
  EXPECT_EQ(parse_header(ring.blocks.back())->start_ns, batches[2].start_ns) << "the ring has what the disk refuses";
}

// The limit of a process's file size stands in for a disk that stays full.
TEST(CaptureWriter, ACaptureOnAFullDiskIsClosedAndSaysWhatItLacks) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const std::vector<EventBatch> batches = ordinary_batches(40, 1'000);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{32'000, 32'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    CaptureWriter writer(path, test::sample_options());
    write_all(writer, batches);
    writer.finish();
    ::_exit(writer.unwritten().dropped_scopes > 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const CaptureReader reader(path);
  EXPECT_TRUE(reader.is_closed());
  EXPECT_TRUE(reader.damages().empty());
  const TrackTotals sum = sum_of(reader.end());
  EXPECT_GT(sum.recorded_scopes, 0U);
  EXPECT_EQ(sum.recorded_scopes + sum.dropped_scopes, count_opens(batches));
}

TEST(CaptureWriter, AFileTakesNoMoreRoomThanItHoldsOnceItIsClosed) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  CaptureWriter writer(path, test::sample_options());
  write_all(writer, ordinary_batches(3, 100));
  writer.finish();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_LE(status.st_blocks * 512, (status.st_size + 65'535) / 65'536 * 65'536);
}

TEST(CaptureWriter, TracksThatEndedAreWrittenAlongTheWay) {
  const std::uint32_t tracks = 5'000;
  const std::vector<EventBatch> batches = test::short_tracks(tracks);
  const Bytes bytes = test::write_capture(batches);
  const auto expect_all = [tracks](const CaptureReader& reader) {
    ASSERT_EQ(reader.declarations().tracks.size(), tracks);
    std::vector<bool> is_there(tracks);
    for (const TrackDeclaration& track : reader.declarations().tracks) {
      const std::uint32_t number = track.id.value();
      is_there[track.id.index()] =
          track.name == "worker " + std::to_string(number) && track.os_thread_id == number + 5'000;
    }
    EXPECT_EQ(std::count(is_there.begin(), is_there.end(), true), tracks);
  };
  const CaptureReader reader = test::open_bytes(bytes);
  EXPECT_EQ(test::count_blocks(reader, BlockKind::ended_tracks), 4U);
  expect_all(reader);
  ASSERT_EQ(reader.end().tracks.size(), tracks);
  for (std::uint32_t id = 1; id <= tracks; ++id) {
    const TrackTotals& totals = reader.end().tracks[id - 1];
    ASSERT_EQ(totals.track, TrackId{id});
    ASSERT_EQ(totals.recorded_scopes, 2U);
    ASSERT_EQ(totals.dropped_scopes, id);
    ASSERT_EQ(totals.end_sequence, 4U);
  }
  // Without its trailer, and with a damaged block of ended tracks, it is read block by block.
  expect_all(test::open_bytes(Bytes(bytes.begin(), bytes.end() - 1)));
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind == BlockKind::ended_tracks) {
      Bytes damaged = bytes;
      damaged[block.offset + block_header_size] ^= std::byte{1};
      expect_all(test::open_bytes(damaged));
    }
  }
  // Readers that know no such blocks are not told that all declarations stand together.
  IndexPage page;
  BlockPayload payload;
  ASSERT_TRUE(reader.read_payload(reader.blocks().back(), payload));
  TableReader index({payload.data(), payload.size()});
  TableView table;
  ASSERT_TRUE(index.next(table) && decode_index(table, page));
  EXPECT_EQ(page.all_declarations, 0U);
  EXPECT_NE(page.living_declarations, 0U);
}

TEST(CaptureWriter, ATrackThatGoesOnAfterItsEndIsCountedWhole) {
  std::vector<EventBatch> batches = test::short_tracks(2'000);
  for (EventBatch batch : test::short_tracks(2'000)) {
    batches.push_back(std::move(batch));
  }
  const CaptureReader reader = test::open_bytes(test::write_capture(batches));
  ASSERT_EQ(reader.end().tracks.size(), 2'000U);
  for (const TrackTotals& totals : reader.end().tracks) {
    ASSERT_EQ(totals.recorded_scopes, 4U);
    ASSERT_EQ(totals.dropped_scopes, totals.track.value());
  }
}

// The limit of a process's file size stands in for a full disk: the write that crosses it is cut short.
TEST(CaptureWriter, AShortWriteIsCutBackToTheLastWholeBlock) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const std::vector<EventBatch> batches = ordinary_batches(20, 500);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20'000, 20'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int result = 1;
    try {
      CaptureWriter writer(path, test::sample_options());
      for (const EventBatch& batch : batches) {
        writer.write(batch);
      }
    } catch (const WriteError&) {
      result = 0;
    }
    ::_exit(result);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const CaptureReader reader(path);
  EXPECT_TRUE(reader.damages().empty());
  const auto events = test::read_events(reader);
  ASSERT_GE(events.size(), 3U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i], describe(batches[i]));
  }
}

TEST(CaptureWriter, ACaptureWhoseDescriptorTheProgramClosedIsOpenedAgainAndTheNumberIsLeftAlone) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  int taken = -1;
  {
    FileDestination destination(path);
    for (int fd = 3; fd < 1024 && taken < 0; ++fd) {
      std::error_code error;
      const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
      taken = !error && link.filename() == "run.kymo" ? fd : -1;
    }
    ASSERT_GE(taken, 0);
    const base::FileDescriptor other(::open((directory / "other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::dup2(other.get(), taken), taken);
    destination.append(std::vector<std::byte>(100));
    EXPECT_EQ(std::filesystem::file_size(path), 100U);
  }
  EXPECT_EQ(std::filesystem::file_size(directory / "other"), 0U);
  EXPECT_EQ(::fcntl(taken, F_GETFD), 0) << "it is the program's";
  ::close(taken);
}

TEST(CaptureWriter, ABatchTooLargeForABlockIsRefusedAndTheNextOneIsWritten) {
  auto bytes = std::make_shared<Bytes>();
  CaptureWriter writer(std::make_unique<MemoryDestination>(bytes), test::sample_options());
  EventBatch large;
  large.frame_marks.resize(std::size_t{1} << 22U);
  EXPECT_THROW(writer.write(large), std::length_error);
  BatchSource source(1);
  const EventBatch next = source.ordinary(10);
  writer.write(next);
  writer.finish();
  const CaptureReader reader = test::open_bytes(*bytes);
  EXPECT_TRUE(reader.damages().empty());
  EXPECT_EQ(test::read_events(reader), std::vector<std::string>{describe(next)});
}

TEST(CaptureWriter, ManyBlocksMakeSeveralIndexPages) {
  EventBatch batch;
  batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, 5});
  auto options = test::sample_options();
  options.with_summaries = false;
  const Bytes bytes =
      test::write_capture(std::vector<EventBatch>(3 * max_index_blocks, batch), true, std::move(options));
  const CaptureReader indexed = test::open_bytes(bytes);
  EXPECT_EQ(test::count_blocks(indexed, BlockKind::index), 4U);
  EXPECT_EQ(test::count_blocks(indexed, BlockKind::events), 3 * max_index_blocks);

  // Without the trailer the same is found by hopping.
  const Bytes torn(bytes.begin(), bytes.end() - 1);
  const CaptureReader hopped = test::open_bytes(torn);
  ASSERT_EQ(hopped.blocks().size(), indexed.blocks().size());
  for (std::size_t i = 0; i < hopped.blocks().size(); ++i) {
    EXPECT_EQ(hopped.blocks()[i].offset, indexed.blocks()[i].offset);
    EXPECT_EQ(hopped.blocks()[i].kind, indexed.blocks()[i].kind);
    EXPECT_EQ(hopped.blocks()[i].number, indexed.blocks()[i].number);
    EXPECT_EQ(hopped.blocks()[i].start_ns, indexed.blocks()[i].start_ns);
    EXPECT_EQ(hopped.blocks()[i].end_ns, indexed.blocks()[i].end_ns);
    EXPECT_EQ(hopped.blocks()[i].stored_bytes, indexed.blocks()[i].stored_bytes);
  }
}

TEST(CaptureWriter, TheBenchmarksScopesTakeFewBytesOnDisk) {
  for (const auto& [zstd, goal] : {std::pair(false, 4.5), std::pair(true, 3.5)}) {
    auto bytes = std::make_shared<Bytes>();
    CaptureWriterOptions options = zstd ? make_repack_options() : CaptureWriterOptions();
    CaptureWriter writer(std::make_unique<MemoryDestination>(bytes), std::move(options));
    benchmarks::ScopeGenerator generator(42);
    EventBatch batch;
    for (int i = 0; i < 30; ++i) {
      generator.next(batch);
      writer.write(batch);
    }
    writer.finish();
    const double bytes_per_scope = static_cast<double>(bytes->size()) / static_cast<double>(generator.scopes());
    EXPECT_LE(bytes_per_scope, goal);
    RecordProperty(zstd ? "zstd_bytes_per_scope" : "lz4_bytes_per_scope", std::to_string(bytes_per_scope));
  }
}

}  // namespace
}  // namespace kymo::capture
