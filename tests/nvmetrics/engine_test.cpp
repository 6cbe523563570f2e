// The recorder of Jetson traces, on boards made of files.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <kymo/nvmetrics.hpp>

#include "sense/jetson_tree.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_until.hpp"

namespace kymo::nvmetrics {
namespace {

struct Trace {
  FileHeader header{};
  std::vector<FastSample> fast;
  std::vector<MediumSample> medium;
  std::vector<SlowSample> slow;
  std::vector<SyncPoint> sync;
};

template <typename Row>
void take(std::string& bytes, std::uint64_t count, std::vector<Row>& rows) {
  rows.resize(count);
  ASSERT_GE(bytes.size(), count * sizeof(Row));
  if (count > 0) {
    std::memcpy(rows.data(), bytes.data(), count * sizeof(Row));
  }
  bytes.erase(0, count * sizeof(Row));
}

Trace read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Trace trace;
  if (bytes.size() < sizeof trace.header) {
    ADD_FAILURE() << path << " has " << bytes.size() << " bytes";
    return trace;
  }
  std::memcpy(&trace.header, bytes.data(), sizeof trace.header);
  bytes.erase(0, sizeof trace.header);
  take(bytes, trace.header.num_fast_samples, trace.fast);
  take(bytes, trace.header.num_medium_samples, trace.medium);
  take(bytes, trace.header.num_slow_samples, trace.slow);
  take(bytes, trace.header.num_sync_points, trace.sync);
  EXPECT_EQ(bytes, "");
  return trace;
}

class Board : public test::JetsonTree {
 public:
  explicit Board(test::JetsonModel model = test::agx_orin_model()) : JetsonTree(std::move(model)) {
    std::string stat = "cpu  200 0 100 5000 0 0 0 0 0 0\n";
    for (int core = 0; core < 12; ++core) {
      stat += "cpu" + std::to_string(core) + " 20 0 10 500 0 0 0 0 0 0\n";
    }
    write("/proc/stat", stat + "intr 1\nctxt 2\nbtime 3\nprocesses 4\nprocs_running 1\nprocs_blocked 0\n");
    write("/proc/meminfo", "MemTotal:       64349376 kB\nMemFree:        35131272 kB\nMemAvailable:   57722372 kB\n");
    set_gpu_load("451\n");
    set_emc(10'000'000, 2'000'000'000, 50'000);
  }

  [[nodiscard]] EngineConfig config() const {
    EngineConfig config;
    config.root = root();
    return config;
  }
};

TEST(Engine, WritesATraceOfTheBoardThatItWasGiven) {
  test::TemporaryDirectory directory;
  const Board tree;
  const BoardConfig board = detect_board(tree.root());
  const std::string path = directory / "run 100%p.nvmt";
  Engine engine(path, board, tree.config());
  EXPECT_FALSE(engine.is_running());
  EXPECT_EQ(engine.sync(), 0U);
  engine.start();
  EXPECT_TRUE(engine.is_running());
  EXPECT_THROW(engine.start(), std::runtime_error);
  EXPECT_TRUE(engine.wait_for_warmup());
  EXPECT_GE(engine.sample_count(), 10U);
  EXPECT_EQ(engine.sync(), 1U);
  const std::uint64_t before = engine.sample_count();
  ASSERT_TRUE(test::wait_until([&] { return engine.sample_count() >= before + 300; }));
  EXPECT_EQ(engine.sync(), 2U);
  engine.stop();
  EXPECT_FALSE(engine.is_running());
  const std::uint64_t count = engine.sample_count();
  engine.stop();

  const Trace trace = read_trace(path);
  EXPECT_TRUE(std::filesystem::exists(path + ".kymo"));
  EXPECT_EQ(std::string(trace.header.board_name), "agx_orin");
  EXPECT_EQ(trace.header.num_cpu_cores, 12);
  EXPECT_EQ(trace.header.num_power_rails, board.power_rails.size());
  EXPECT_EQ(trace.header.num_thermal_zones, 11);
  EXPECT_EQ(trace.header.emc_available, 1);
  EXPECT_EQ(std::uint32_t{trace.header.fast_hz}, 1000U);
  EXPECT_EQ(std::uint32_t{trace.header.medium_hz}, 100U);
  EXPECT_EQ(std::uint32_t{trace.header.slow_hz}, 10U);
  for (std::size_t i = 0; i < board.power_rails.size(); ++i) {
    EXPECT_EQ(std::string(trace.header.power_rail_names[i]), board.power_rails[i].label);
    const test::JetsonChannel& channel = tree.channel(board.power_rails[i].label);
    ASSERT_FALSE(trace.medium.empty());
    EXPECT_EQ(std::uint32_t{trace.medium.back().voltage_mv[i]}, channel.millivolts);
    EXPECT_EQ(std::uint32_t{trace.medium.back().current_ma[i]}, channel.milliamperes);
    EXPECT_EQ(float{trace.medium.back().power_mw[i]},
              static_cast<float>(channel.millivolts) * static_cast<float>(channel.milliamperes) / 1000.0F);
  }
  for (std::size_t i = 0; i < board.thermal_zones.size(); ++i) {
    EXPECT_EQ(std::string(trace.header.thermal_zone_names[i]), board.thermal_zones[i].name);
    ASSERT_FALSE(trace.slow.empty());
    EXPECT_EQ(float{trace.slow.back().temp_c[i]}, 40.0F + 0.5F * static_cast<float>(i));
  }
  EXPECT_EQ(trace.fast.size(), count);
  double last_s = 0;
  for (const FastSample& sample : trace.fast) {
    EXPECT_GE(double{sample.time_s}, last_s);
    last_s = sample.time_s;
    EXPECT_EQ(std::uint16_t{sample.gpu_load}, 451U);
    EXPECT_EQ(std::uint64_t{sample.ram_available_kb}, 57722372U);
    // A first round that takes long leaves what comes last in it to the second row.
    if (&sample != &trace.fast.front() || float{sample.emc_util} != -1.0F) {
      EXPECT_EQ(float{sample.emc_util}, 10.0F);
    }
  }
  ASSERT_EQ(trace.sync.size(), 2U);
  EXPECT_EQ(std::uint64_t{trace.sync[0].sync_id}, 1U);
  EXPECT_EQ(std::uint64_t{trace.sync[1].sync_id}, 2U);
  EXPECT_GE(std::uint64_t{trace.sync[0].fast_sample_idx}, 10U);
  EXPECT_GE(std::uint64_t{trace.sync[1].fast_sample_idx}, std::uint64_t{trace.sync[0].fast_sample_idx} + 299);
  EXPECT_LE(std::uint64_t{trace.sync[1].fast_sample_idx}, count);
}

TEST(Engine, MayStartAgainAndCountsAnew) {
  test::TemporaryDirectory directory;
  const Board tree;
  EngineConfig config = tree.config();
  config.keeps_capture = false;
  const std::string path = directory / "run.nvmt";
  Engine engine(path, detect_board(tree.root()), config);
  for (unsigned round = 1; round <= 2; ++round) {
    engine.start();
    ASSERT_TRUE(engine.wait_for_warmup());
    for (unsigned number = 1; number <= round; ++number) {
      EXPECT_EQ(engine.sync(), number);
    }
    engine.stop();
    const Trace trace = read_trace(path);
    ASSERT_EQ(trace.sync.size(), round);
    EXPECT_EQ(std::uint64_t{trace.sync[0].sync_id}, 1U);
    EXPECT_LT(std::uint64_t{trace.sync.back().fast_sample_idx}, trace.fast.size()) << "the stop waits for a sample";
    EXPECT_EQ(trace.fast.size(), engine.sample_count());
    EXPECT_FALSE(std::filesystem::exists(path + ".kymo"));
  }
}

TEST(Engine, ARailThatCannotBeReadKeepsItsColumn) {
  test::TemporaryDirectory directory;
  const Board tree;
  BoardConfig board = detect_board(tree.root());
  board.board_name = "one of our own";
  board.num_cpu_cores = 4;
  board.power_rails[0].voltage_path = tree.root() + "/nothing";
  board.thermal_zones[2].temp_path = tree.root() + "/nothing";
  const std::string path = directory / "run.nvmt";
  {
    Engine engine(path, board, tree.config());
    engine.start();
    EXPECT_TRUE(engine.wait_for_warmup());
    ASSERT_TRUE(test::wait_until([&] { return engine.sample_count() >= 50; }));
  }
  const Trace trace = read_trace(path);
  EXPECT_EQ(std::string(trace.header.board_name), board.board_name);
  EXPECT_EQ(trace.header.num_cpu_cores, 4);
  ASSERT_EQ(trace.header.num_power_rails, board.power_rails.size());
  EXPECT_EQ(std::string(trace.header.power_rail_names[0]), board.power_rails[0].label);
  EXPECT_EQ(std::string(trace.header.power_rail_names[1]), board.power_rails[1].label);
  ASSERT_FALSE(trace.medium.empty());
  EXPECT_TRUE(std::isnan(float{trace.medium.back().power_mw[0]}));
  EXPECT_GT(float{trace.medium.back().power_mw[1]}, 0.0F);
  EXPECT_EQ(std::string(trace.header.thermal_zone_names[2]), board.thermal_zones[2].name);
  ASSERT_FALSE(trace.slow.empty());
  EXPECT_TRUE(std::isnan(float{trace.slow.back().temp_c[2]}));
  EXPECT_EQ(float{trace.slow.back().temp_c[3]}, 41.5F);
}

TEST(Engine, AfterTheWarmUpEveryColumnHasAValueAndNoneIsMissingBefore) {
  test::TemporaryDirectory directory;
  const Board tree;
  std::filesystem::remove(tree.root() + "/proc/stat");
  std::filesystem::create_symlink("/proc/stat", tree.root() + "/proc/stat");
  const BoardConfig board = detect_board(tree.root());
  ASSERT_GT(board.num_cpu_cores, 0U);
  const std::string path = directory / "run.nvmt";
  BoardConfig chosen = board;
  chosen.num_cpu_cores = std::min<unsigned>(board.num_cpu_cores, max_cpu_cores);
  Engine engine(path, chosen, tree.config());
  engine.start();
  ASSERT_TRUE(engine.wait_for_warmup());
  engine.stop();
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.header.num_cpu_cores, chosen.num_cpu_cores);
  ASSERT_GE(trace.fast.size(), 10U);
  for (const FastSample& sample : trace.fast) {
    for (unsigned core = 0; core < chosen.num_cpu_cores; ++core) {
      EXPECT_TRUE(float{sample.cpu_util[core]} >= 0 && float{sample.cpu_util[core]} <= 100) << sample.cpu_util[core];
    }
    EXPECT_TRUE(float{sample.cpu_aggregate} >= 0 && float{sample.cpu_aggregate} <= 100) << sample.cpu_aggregate;
  }
  EXPECT_FALSE(trace.medium.empty());
  EXPECT_FALSE(trace.slow.empty());
}

TEST(Engine, SeveralRecordAtTheSameTime) {
  test::TemporaryDirectory directory;
  const Board agx;
  const Board nx(test::orin_nx_model());
  EngineConfig slower = nx.config();
  slower.fast_hz = 500;
  slower.medium_hz = 50;
  Engine first(directory / "first.nvmt", detect_board(agx.root()), agx.config());
  Engine second(directory / "second.nvmt", detect_board(nx.root()), slower);
  first.start();
  second.start();
  ASSERT_TRUE(first.wait_for_warmup());
  ASSERT_TRUE(second.wait_for_warmup());
  EXPECT_EQ(first.sync(), 1U);
  EXPECT_EQ(second.sync(), 1U);
  EXPECT_EQ(second.sync(), 2U);
  first.stop();
  EXPECT_FALSE(first.is_running());
  EXPECT_TRUE(second.is_running());
  const Trace of_first = read_trace(directory / "first.nvmt");
  EXPECT_EQ(std::string(of_first.header.board_name), "agx_orin");
  EXPECT_EQ(std::string(of_first.header.power_rail_names[0]), "VDD_GPU_SOC");
  EXPECT_EQ(std::uint32_t{of_first.header.fast_hz}, 1000U);
  EXPECT_EQ(of_first.fast.size(), first.sample_count());
  EXPECT_EQ(of_first.sync.size(), 1U);
  const std::uint64_t before = second.sample_count();
  ASSERT_TRUE(test::wait_until([&] { return second.sample_count() > before + 20; }));
  EXPECT_EQ(second.sync(), 3U);
  second.stop();
  const Trace of_second = read_trace(directory / "second.nvmt");
  EXPECT_EQ(std::string(of_second.header.board_name), "orin_nx");
  EXPECT_EQ(std::string(of_second.header.power_rail_names[0]), "VDD_IN");
  EXPECT_EQ(std::uint32_t{of_second.header.fast_hz}, 500U);
  EXPECT_EQ(std::uint32_t{of_second.header.medium_hz}, 50U);
  EXPECT_EQ(of_second.fast.size(), second.sample_count());
  EXPECT_GE(double{of_second.fast.at(1).time_s}, double{of_second.fast.at(0).time_s});
  EXPECT_LT(double{of_second.fast.at(0).time_s}, 1.0);
  EXPECT_GT(float{of_second.medium.back().power_mw[0]}, 0.0F);
  ASSERT_EQ(of_second.sync.size(), 3U);
  EXPECT_EQ(std::uint64_t{of_second.sync[2].sync_id}, 3U);
  EXPECT_LT(std::uint64_t{of_second.sync[2].fast_sample_idx}, of_second.fast.size());
  EXPECT_TRUE(std::filesystem::exists(directory / "first.nvmt.kymo"));
  EXPECT_FALSE(std::filesystem::exists(directory / "second.nvmt.kymo"));
  // The capture has ended with the last of them, and the next engine makes its own.
  second.start();
  EXPECT_TRUE(std::filesystem::exists(directory / "second.nvmt.kymo"));
}

TEST(Engine, BoardsThatATraceHasNoRoomForAreToldBeforeAnythingStarts) {
  test::TemporaryDirectory directory;
  BoardConfig sound;
  sound.num_cpu_cores = 4;
  const auto is_refused = [&](const BoardConfig& board) {
    try {
      const Engine engine(directory / "run.nvmt", board);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(is_refused(sound));
  for (const unsigned cores : {0U, 17U}) {
    BoardConfig board = sound;
    board.num_cpu_cores = cores;
    EXPECT_TRUE(is_refused(board)) << cores;
  }
  BoardConfig rails = sound;
  rails.power_rails.resize(max_power_rails + 1, {"rail", "/dev/null", "/dev/null"});
  EXPECT_TRUE(is_refused(rails));
  BoardConfig zones = sound;
  zones.thermal_zones.resize(max_thermal_zones + 1, {"zone", "/dev/null"});
  EXPECT_TRUE(is_refused(zones));
}

TEST(Engine, RatesOutOfRangeAreToldBeforeAnythingStarts) {
  test::TemporaryDirectory directory;
  BoardConfig board;
  board.num_cpu_cores = 1;
  for (const auto& [fast, medium, slow] : {std::tuple{0U, 10U, 10U}, std::tuple{1001U, 10U, 10U},
                                           std::tuple{10U, 1001U, 10U}, std::tuple{10U, 10U, 5000U}}) {
    EngineConfig config;
    config.fast_hz = fast;
    config.medium_hz = medium;
    config.slow_hz = slow;
    EXPECT_THROW(Engine(directory / "run.nvmt", board, config), std::invalid_argument);
  }
  EngineConfig config;
  config.cpus = {-1};
  EXPECT_THROW(Engine(directory / "run.nvmt", board, config), std::invalid_argument);
  Engine nowhere((directory / "none") + "/run.nvmt", board);
  EXPECT_THROW(nowhere.start(), std::runtime_error);
  EXPECT_FALSE(nowhere.is_running());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

#if defined(KYMO_COMMAND)

TEST(Engine, AKilledProgramLeavesACaptureThatTheTraceIsMadeOf) {
  test::TemporaryDirectory directory;
  const Board tree;
  const std::string path = directory / "run.nvmt";
  const std::string ready = directory / "ready";
  const auto killed_at = [&] {
    test::ChildProcess child({RECORDED_ENGINE, path, tree.root(), ready});
    EXPECT_TRUE(test::wait_until([&] { return std::filesystem::exists(ready); }));
    child.signal(SIGKILL);
    return child.wait();
  }();
  EXPECT_EQ(killed_at, -SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::uint64_t counted = 0;
  std::ifstream(ready) >> counted;
  test::ChildProcess recover({KYMO_COMMAND, "recover", "--to", "nvmt", path + ".kymo"}, {}, directory / "out");
  EXPECT_EQ(recover.wait(), 0);
  const Trace trace = read_trace(path);
  EXPECT_EQ(std::string(trace.header.board_name), "agx_orin");
  // All that was counted at the time, and the one that was being taken then at most is not there.
  EXPECT_GE(trace.fast.size() + 1, counted);
  ASSERT_EQ(trace.sync.size(), 1U);
  EXPECT_EQ(std::uint64_t{trace.sync[0].sync_id}, 1U);
}

#endif

}  // namespace
}  // namespace kymo::nvmetrics
