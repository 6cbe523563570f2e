// From captures to NVMT traces and back.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kymo/exchange.hpp>
#include <kymo/import.hpp>
#include <kymo/timeline.hpp>

#include "capture/write/capture_writer.hpp"
#include "chrome_fixture.hpp"
#include "exchange/nvmt/import.hpp"
#include "nvmt_fixture.hpp"
#include "support/memory_destination.hpp"

namespace kymo::exchange {
namespace {

using test::encode_nvmt;
using test::random_trace;
using test::TemporaryDirectory;

constexpr std::int64_t ms = 1'000'000;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A capture that is made sample by sample.
class SampledCapture {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  SampledCapture() {
    declarations_.processes.emplace_back().id = ProcessId{1};
    declarations_.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 1, "main"});
  }

  void info(const std::string& key, const std::string& value) {
    declarations_.infos.push_back({ProcessId{1}, key, value});
  }

  MetricId metric(const std::string& name, const Labels& labels = {}, ProcessId process = ProcessId{1}) {
    MetricDeclaration& declaration = declarations_.metrics.emplace_back();
    declaration.id = MetricId{static_cast<std::uint32_t>(declarations_.metrics.size())};
    declaration.process = process;
    declaration.name = name;
    declaration.labels = labels;
    return declaration.id;
  }

  void sample(MetricId metric, std::int64_t time_ns, double value) {
    SampleRun& run = runs_[metric];
    run.metric = metric;
    run.times_ns.push_back(time_ns);
    run.values.push_back(value);
  }

  void sync(std::uint64_t number, std::int64_t time_ns) { sync_.push_back({number, TrackId{1}, time_ns}); }

  Declarations& declarations() { return declarations_; }

  [[nodiscard]] Timeline timeline() {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    capture::CaptureWriterOptions options;
    options.declarations = declarations_;
    capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(options));
    EventBatch batch;
    batch.start_ns = 0;
    batch.end_ns = 1'000'000 * ms;
    for (const auto& [metric, run] : runs_) {
      batch.samples.push_back(run);
    }
    batch.sync_points = sync_;
    writer.write(batch);
    writer.finish();
    bytes_ = bytes;
    std::vector<CaptureReader> captures;
    captures.emplace_back(bytes->data(), bytes->size(), "memory");
    return Timeline(std::move(captures));
  }

  MetricId metric(MetricDeclaration declaration) {
    declaration.id = MetricId::from_index(declarations_.metrics.size());
    declarations_.metrics.push_back(std::move(declaration));
    return declarations_.metrics.back().id;
  }

  [[nodiscard]] NvmtTrace exported(unsigned recorder = 0) {
    TemporaryDirectory directory;
    const std::string path = directory / "trace.nvmt";
    const Timeline opened = timeline();
    NvmtExportOptions options;
    options.recorder = recorder;
    report_ = export_nvmt(opened, path, options);
    return read_nvmt(path);
  }
  [[nodiscard]] const NvmtExportReport& report() const { return report_; }

 private:
  Declarations declarations_;
  std::map<MetricId, SampleRun> runs_;
  std::vector<SyncPoint> sync_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  NvmtExportReport report_;
};

std::string export_of_import(const NvmtTrace& trace, NvmtImportReport* report = nullptr) {
  TemporaryDirectory directory;
  const std::string capture = directory / "import.kymo";
  const std::string back = directory / "back.nvmt";
  const NvmtImportReport imported = import_nvmt(trace, "trace.nvmt", capture);
  EXPECT_EQ(imported.output, capture);
  if (report != nullptr) {
    *report = imported;
  } else {
    EXPECT_EQ(imported.losses, std::vector<std::string>{});
  }
  export_nvmt(Timeline(capture), back);
  return test::read_file(back);
}

TEST(NvmtExport, EveryColumnComesFromItsMetric) {
  SampledCapture capture;
  capture.info("board", "orin_nx");
  capture.info("sampler.fast_hz", "1000");
  capture.info("sampler.medium_hz", "100");
  capture.info("sampler.slow_hz", "10");
  const MetricId used = capture.metric("memory_used");
  const MetricId available = capture.metric("memory_available");
  const MetricId all = capture.metric("cpu_util");
  const MetricId core1 = capture.metric("cpu_util", {{"core", "1"}});
  const MetricId core0 = capture.metric("cpu_util", {{"core", "0"}});
  const MetricId gpu = capture.metric("gpu_util", {{"gpu", "0"}});
  const MetricId emc = capture.metric("emc_util");
  const MetricId other = capture.metric("temperature", {{"chip", "nvme"}});
  const MetricId volts = capture.metric("voltage", {{"rail", "VDD_IN"}});
  const MetricId amperes = capture.metric("current", {{"rail", "VDD_IN"}});
  const MetricId zone = capture.metric("temperature", {{"zone", "cpu-thermal"}});
  for (int i = 0; i < 10; ++i) {
    const std::int64_t now = 500 * ms + i * ms;
    capture.sample(used, now, (1000.0 + i) * 1024);
    capture.sample(available, now + 1000, (5000.0 - i) * 1024);
    capture.sample(all, now + 3000, 25.5 + i);
    capture.sample(core0, now - 2000, 10 + i);
    capture.sample(core1, now + 3000, 20 + i);
    capture.sample(gpu, now + 4000, 33.3);
    capture.sample(emc, now + 5000, 7.25);
  }
  for (int i = 0; i < 3; ++i) {
    const std::int64_t now = 501 * ms + i * 10 * ms;
    capture.sample(volts, now, 19.072);
    capture.sample(amperes, now + 200'000, 0.5 + 0.1 * i);
    capture.sample(zone, now, 45.125);
    capture.sample(other, now, 99);
  }
  capture.sync(1, 502 * ms + 500'000);
  capture.sync(2, 509 * ms);
  capture.sync(3, 600 * ms);

  const NvmtTrace trace = capture.exported();
  EXPECT_EQ(field_text(trace.header.board_name), "orin_nx");
  EXPECT_EQ(trace.header.num_cpu_cores, 2);
  EXPECT_EQ(trace.header.num_power_rails, 1);
  EXPECT_EQ(trace.header.num_thermal_zones, 1);
  EXPECT_EQ(trace.header.emc_available, 1);
  EXPECT_EQ(std::uint32_t{trace.header.fast_hz}, 1000U);
  EXPECT_EQ(std::uint32_t{trace.header.medium_hz}, 100U);
  EXPECT_EQ(std::uint32_t{trace.header.slow_hz}, 10U);
  EXPECT_EQ(field_text(trace.header.power_rail_names[0]), "VDD_IN");
  EXPECT_EQ(field_text(trace.header.thermal_zone_names[0]), "cpu-thermal");
  ASSERT_EQ(trace.fast.size(), 10U);
  for (unsigned i = 0; i < 10; ++i) {
    const nvmetrics::FastSample& sample = trace.fast[i];
    EXPECT_EQ(double{sample.time_s}, i / 1000.0) << i;
    EXPECT_EQ(std::uint64_t{sample.ram_used_kb}, 1000U + i);
    EXPECT_EQ(std::uint64_t{sample.ram_available_kb}, 5000U - i);
    EXPECT_EQ(float{sample.cpu_aggregate}, 25.5F + static_cast<float>(i));
    EXPECT_EQ(float{sample.cpu_util[0]}, 10.0F + static_cast<float>(i));
    EXPECT_EQ(float{sample.cpu_util[1]}, 20.0F + static_cast<float>(i));
    EXPECT_EQ(float{sample.cpu_util[2]}, 0.0F);
    EXPECT_EQ(std::uint16_t{sample.gpu_load}, 333U);
    EXPECT_EQ(float{sample.emc_util}, 7.25F);
  }
  ASSERT_EQ(trace.medium.size(), 3U);
  EXPECT_EQ(double{trace.medium[2].time_s}, 0.021);
  EXPECT_EQ(std::uint32_t{trace.medium[2].voltage_mv[0]}, 19072U);
  EXPECT_EQ(std::uint32_t{trace.medium[2].current_ma[0]}, 700U);
  EXPECT_EQ(float{trace.medium[2].power_mw[0]}, 13350.4F);
  EXPECT_EQ(std::uint32_t{trace.medium[2].voltage_mv[1]}, 0U);
  ASSERT_EQ(trace.slow.size(), 3U);
  EXPECT_EQ(float{trace.slow[0].temp_c[0]}, 45.125F);
  ASSERT_EQ(trace.sync.size(), 3U);
  EXPECT_EQ(std::uint64_t{trace.sync[0].fast_sample_idx}, 3U);
  EXPECT_EQ(std::uint64_t{trace.sync[1].fast_sample_idx}, 9U);
  EXPECT_EQ(std::uint64_t{trace.sync[2].fast_sample_idx}, 10U);
  EXPECT_EQ(std::uint64_t{trace.sync[2].sync_id}, 3U);
}

TEST(NvmtExport, AValueHoldsUntilTheNextAndAGapIsNoNumberWhereThereIsRoomForThat) {
  SampledCapture capture;
  const MetricId used = capture.metric("memory_used");
  const MetricId available = capture.metric("memory_available");
  const MetricId all = capture.metric("cpu_util");
  const MetricId core2 = capture.metric("cpu_util", {{"core", "2"}});
  const MetricId emc = capture.metric("emc_util");
  const MetricId gpu = capture.metric("gpu_util");
  for (int i = 0; i < 6; ++i) {
    capture.sample(used, i * 10 * ms, i == 3 ? nan : 1024.0 * (i + 1));
  }
  capture.sample(available, 20 * ms, 2048);
  capture.sample(all, 21 * ms, 50);  // of the third tick
  capture.sample(all, 40 * ms, nan);
  capture.sample(core2, 16 * ms, 5);  // nearer to the third tick than to the second
  capture.sample(emc, 10 * ms, 3);
  capture.sample(emc, 30 * ms, nan);
  capture.sample(gpu, 30 * ms, 12);
  capture.sample(gpu, 40 * ms, nan);
  const NvmtTrace trace = capture.exported();
  ASSERT_EQ(trace.fast.size(), 6U);
  std::vector<std::uint64_t> used_kb;
  std::vector<std::uint64_t> available_kb;
  std::vector<int> gpu_load;
  std::vector<float> aggregate;
  std::vector<float> emc_util;
  for (const nvmetrics::FastSample& sample : trace.fast) {
    used_kb.push_back(std::uint64_t{sample.ram_used_kb});
    available_kb.push_back(std::uint64_t{sample.ram_available_kb});
    gpu_load.push_back(sample.gpu_load);
    aggregate.push_back(std::isnan(float{sample.cpu_aggregate}) ? -99 : float{sample.cpu_aggregate});
    emc_util.push_back(float{sample.emc_util});
  }
  EXPECT_EQ(used_kb, (std::vector<std::uint64_t>{1, 2, 3, 3, 5, 6}));
  EXPECT_EQ(available_kb, (std::vector<std::uint64_t>{2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(gpu_load, (std::vector<int>{120, 120, 120, 120, 120, 120}));
  EXPECT_EQ(aggregate, (std::vector<float>{-99, -99, 50, 50, -99, -99}));
  EXPECT_EQ(emc_util, (std::vector<float>{-1, 3, 3, -1, -1, -1}));
  // Cores that were never there have no columns; rates and names that nothing states.
  EXPECT_EQ(trace.header.num_cpu_cores, 1);
  EXPECT_TRUE(std::isnan(float{trace.fast[1].cpu_util[0]}));
  EXPECT_EQ(float{trace.fast[2].cpu_util[0]}, 5.0F);
  EXPECT_EQ(std::uint32_t{trace.header.fast_hz}, 100U);
  EXPECT_EQ(std::uint32_t{trace.header.medium_hz}, 0U);
  EXPECT_EQ(field_text(trace.header.board_name), "generic");
  EXPECT_TRUE(trace.medium.empty());
  EXPECT_TRUE(trace.slow.empty());
}

TEST(NvmtExport, OnlineCoresHaveColumnsAndTheirFirstMeanCountsForTheTimeThatItCovers) {
  SampledCapture capture;
  capture.info("nvmt.cores", "12");
  const MetricId used = capture.metric("memory_used");
  MetricDeclaration mean;
  mean.name = "cpu_util";
  mean.window_ns = 30 * ms;
  std::vector<MetricId> cores;
  for (const char* const core : {"0", "1", "4", "5", "9"}) {
    mean.labels = {{"core", core}};
    cores.push_back(capture.metric(mean));
  }
  for (int i = 0; i < 20; ++i) {
    capture.sample(used, i * 10 * ms, 1024);
    // The last of them never comes online, another one late.
    for (std::size_t core = 0; core < 4; ++core) {
      if (i >= (core == 2 ? 15 : 3)) {
        capture.sample(cores[core], i * 10 * ms, static_cast<double>(10 * core + 1));
      }
    }
  }
  const NvmtTrace trace = capture.exported();
  EXPECT_EQ(trace.header.num_cpu_cores, 4);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(float{trace.fast.at(i).cpu_util[0]}, 1.0F) << i;
    EXPECT_EQ(float{trace.fast.at(i).cpu_util[1]}, 11.0F) << i;
    EXPECT_EQ(std::isnan(float{trace.fast.at(i).cpu_util[2]}), i < 9) << i;
    EXPECT_EQ(float{trace.fast.at(i).cpu_util[3]}, 31.0F) << i;
  }
}

TEST(NvmtExport, EachRecorderOfAProcessHasItsOwnTrace) {
  SampledCapture capture;
  capture.info("nvmt.2.board", "other");
  capture.info("nvmt.2.fast_hz", "50");
  capture.info("nvmt.2.rail.0", "B");
  capture.info("nvmt.2.rails", "1");
  const MetricId first = capture.metric("memory_used");
  const MetricId second = capture.metric("memory_used", {{"recorder", "2"}});
  const MetricId rail = capture.metric("voltage", {{"rail", "B"}, {"recorder", "2"}});
  const MetricId marks = capture.metric("nvmt_sync", {{"recorder", "2"}});
  for (int i = 0; i < 4; ++i) {
    capture.sample(first, i * 10 * ms, 1024);
    capture.sample(second, i * 20 * ms, 2048);
    capture.sample(rail, i * 20 * ms, 5);
  }
  capture.sample(marks, 5 * ms, 1);
  capture.sample(marks, 45 * ms, 2);
  capture.sync(1, 15 * ms);
  const NvmtTrace own = capture.exported();
  EXPECT_EQ(std::uint64_t{own.fast.at(0).ram_used_kb}, 1U);
  EXPECT_EQ(own.header.num_power_rails, 0);
  ASSERT_EQ(own.sync.size(), 1U);
  EXPECT_EQ(std::uint64_t{own.sync[0].fast_sample_idx}, 2U);
  const NvmtTrace other = capture.exported(2);
  EXPECT_EQ(field_text(other.header.board_name), "other");
  EXPECT_EQ(std::uint32_t{other.header.fast_hz}, 50U);
  ASSERT_EQ(other.fast.size(), 4U);
  EXPECT_EQ(std::uint64_t{other.fast[0].ram_used_kb}, 2U);
  EXPECT_EQ(std::uint32_t{other.medium.at(0).voltage_mv[0]}, 5000U);
  ASSERT_EQ(other.sync.size(), 2U);
  EXPECT_EQ(std::uint64_t{other.sync[0].sync_id}, 1U);
  EXPECT_EQ(std::uint64_t{other.sync[0].fast_sample_idx}, 1U);
  EXPECT_EQ(std::uint64_t{other.sync[1].sync_id}, 2U);
  EXPECT_EQ(std::uint64_t{other.sync[1].fast_sample_idx}, 3U);
}

TEST(NvmtExport, ALateTickTakesNothingOfTheNext) {
  SampledCapture capture;
  const MetricId used = capture.metric("memory_used");
  const MetricId all = capture.metric("cpu_util");
  const std::int64_t ticks[] = {0, 10 * ms, 19 * ms, 20 * ms, 30 * ms, 40 * ms};  // the third was 9 ms late
  for (int i = 0; i < 6; ++i) {
    capture.sample(used, ticks[i], 1024);
    capture.sample(all, ticks[i] + 1000, i);
  }
  const NvmtTrace trace = capture.exported();
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(float{trace.fast[i].cpu_aggregate}, static_cast<float>(i));
  }
}

TEST(NvmtExport, TimesCountFromTheStatedStartUnlessThatIsLater) {
  for (const auto& [stated, first_s] :
       {std::pair{"400000000", 0.1}, std::pair{"600000000", 0.0}, std::pair{"yesterday", 0.0}, std::pair{"-5", 0.0}}) {
    SampledCapture capture;
    capture.info("sampler.start_ns", stated);
    capture.sample(capture.metric("memory_used"), 500 * ms, 1024);
    EXPECT_EQ(double{capture.exported().fast.at(0).time_s}, first_s) << stated;
  }
}

TEST(NvmtExport, WhatTheFormatHasNoRoomForIsTold) {
  SampledCapture capture;
  for (int core = 0; core < 18; ++core) {
    capture.sample(capture.metric("cpu_util", {{"core", std::to_string(core)}}), ms, core);
  }
  for (int i = 0; i < 9; ++i) {
    capture.sample(capture.metric("voltage", {{"rail", "R" + std::to_string(i)}}), ms, i);
  }
  for (int i = 0; i < 17; ++i) {
    capture.sample(capture.metric("temperature", {{"zone", "Z" + std::to_string(i)}}), ms, i);
  }
  const NvmtTrace trace = capture.exported();
  EXPECT_EQ(trace.header.num_cpu_cores, 16);
  EXPECT_EQ(trace.header.num_power_rails, 8);
  EXPECT_EQ(trace.header.num_thermal_zones, 16);
  EXPECT_EQ(capture.report().left_out,
            (std::vector<std::string>{"CPU core 16", "CPU core 17", "power rail R8", "thermal zone Z16"}));
  // Without memory_used another metric of the tier gives the ticks.
  ASSERT_EQ(trace.fast.size(), 1U);
  EXPECT_EQ(float{trace.fast[0].cpu_util[15]}, 15.0F);
  EXPECT_EQ(std::uint32_t{trace.medium.at(0).voltage_mv[7]}, 7000U);
}

TEST(NvmtExport, AZoneThatIsPoweredDownIsAGapAndTheOthersGoOn) {
  SampledCapture capture;
  const MetricId off = capture.metric("temperature", {{"zone", "cv0-thermal"}});
  const MetricId on = capture.metric("temperature", {{"zone", "cpu-thermal"}});
  capture.sample(off, 100 * ms, nan);
  for (int i = 0; i < 4; ++i) {
    capture.sample(on, (i + 1) * 100 * ms, 40 + i);
  }
  const NvmtTrace trace = capture.exported();
  ASSERT_EQ(trace.slow.size(), 4U);
  EXPECT_TRUE(std::isnan(float{trace.slow[3].temp_c[0]}));
  EXPECT_EQ(float{trace.slow[3].temp_c[1]}, 43.0F);
}

TEST(NvmtExport, ACaptureWithoutAMachineOrWithTwoIsRefused) {
  SampledCapture nothing;
  nothing.sample(nothing.metric("loss"), ms, 1);
  EXPECT_THROW(static_cast<void>(nothing.exported()), NvmtError);
  SampledCapture two;
  two.declarations().processes.emplace_back().id = ProcessId{2};
  two.sample(two.metric("memory_used"), ms, 1024);
  two.sample(two.metric("memory_used", {}, ProcessId{2}), ms, 4096);
  EXPECT_THROW(static_cast<void>(two.exported()), NvmtError);
  TemporaryDirectory directory;
  const std::string path = directory / "trace.nvmt";
  const Timeline timeline = two.timeline();
  NvmtExportOptions options;
  options.process = ProcessId{2};
  export_nvmt(timeline, path, options);
  EXPECT_EQ(std::uint64_t{read_nvmt(path).fast.at(0).ram_used_kb}, 4U);
}

TEST(NvmtImport, AnExportGivesTheFileBackToTheByte) {
  std::vector<test::TraceShape> shapes(7);
  shapes[1] = {.seed = 2, .cores = 16, .rails = 8, .zones = 16, .has_odd_times = true};
  shapes[2] = {
      .seed = 3, .cores = 1, .rails = 0, .zones = 0, .has_emc = false, .fast = 1, .medium = 0, .slow = 0, .sync = 1};
  shapes[3] = {.fast = 0, .medium = 0, .slow = 0, .sync = 0};
  shapes[4] = {.seed = 5, .fast = 0, .medium = 9000, .slow = 5};
  shapes[5] = {.seed = 6, .cores = 8, .fast = 40'000, .medium = 4000, .slow = 400, .sync = 100, .has_odd_times = true};
  shapes[6] = {.seed = 7, .cores = 0, .fast = 0, .medium = 0, .slow = 0, .sync = 9};
  for (const test::TraceShape& shape : shapes) {
    NvmtTrace trace = random_trace(shape);
    if (shape.seed == 6) {
      for (int i = 0; i < 50; ++i) {
        trace.fast[static_cast<std::size_t>(16'384 + i)].cpu_aggregate = std::numeric_limits<float>::quiet_NaN();
      }
      trace.slow[1].temp_c[0] = std::numeric_limits<float>::quiet_NaN();
    }
    const std::string bytes = encode_nvmt(trace);
    EXPECT_TRUE(export_of_import(trace) == bytes) << "seed " << shape.seed;
  }
}

TEST(NvmtImport, SamplesOfOneTimeAndNamesThatAppearTwiceComeBackToo) {
  NvmtTrace trace = random_trace({.seed = 8, .fast = 9000, .sync = 0});
  for (std::size_t i = 4000; i < 9000; ++i) {
    trace.fast[i].time_s = trace.fast[4000].time_s;
  }
  for (auto& name : trace.header.power_rail_names) {
    std::fill(std::begin(name), std::end(name), '\0');
  }
  set_field(trace.header.thermal_zone_names[1], "zone0-thermal");
  EXPECT_TRUE(export_of_import(trace) == encode_nvmt(trace));
}

TEST(NvmtImport, AFileIsImportedByItsName) {
  TemporaryDirectory directory;
  const NvmtTrace trace = random_trace({.seed = 12, .fast = 20, .sync = 2});
  const std::string path = directory / "a.nvmt";
  std::ofstream(path, std::ios::binary) << encode_nvmt(trace);
  const ImportReport report = kymo::import_nvmt(path, (directory / "a.kymo"));
  EXPECT_EQ(report.samples, trace.fast.size() + trace.medium.size() + trace.slow.size());
  EXPECT_EQ(report.sync_points, 2U);
  export_nvmt(Timeline(report.output), (directory / "back.nvmt"));
  EXPECT_TRUE(test::read_file(directory / "back.nvmt") == encode_nvmt(trace));
  EXPECT_THROW(kymo::import_nvmt((directory / "none.nvmt"), (directory / "none.kymo")), ImportError);
}

TEST(NvmtImport, TheCaptureSpeaksKymosNamesAndUnits) {
  TemporaryDirectory directory;
  NvmtTrace trace = random_trace({.seed = 9, .fast = 100, .sync = 3});
  trace.slow[0].temp_c[2] = 45.1F;
  set_field(trace.header.power_rail_names[1], "VDD_IN");
  const Timeline timeline(import_nvmt(trace, "dir/trace.nvmt", (directory / "a.kymo")).output);
  std::map<std::string, std::string> infos;
  for (const auto& [key, value] : timeline.processes().at(0).infos) {
    infos[key] = value;
  }
  EXPECT_EQ(infos["board"], "agx_orin");
  EXPECT_EQ(infos["import.file"], "dir/trace.nvmt");
  std::map<std::string, MetricDeclaration> metrics;
  for (const MetricDeclaration& metric : timeline.declarations().metrics) {
    std::string name = metric.name;
    for (const auto& [key, value] : metric.labels) {
      name += ' ' + key + '=' + value;
    }
    EXPECT_EQ(metric.source, "nvmt");
    metrics[name] = metric;
  }
  EXPECT_EQ(metrics.size(), 5U + 12 + 3 * 4 + 11);
  EXPECT_EQ(metrics.at("memory_used").unit, "B");
  EXPECT_EQ(timeline.series(metrics.at("memory_used").id).values.at(50),
            static_cast<double>(trace.fast[50].ram_used_kb) * 1024);
  EXPECT_EQ(metrics.at("power rail=VDD_IN").unit, "W");
  EXPECT_EQ(metrics.at("power rail=VDD_IN").traits, MetricDeclaration::total);
  EXPECT_EQ(metrics.at("power rail=VDD_RAIL_0").traits, 0U);
  EXPECT_EQ(timeline.series(metrics.at("temperature zone=zone2-thermal").id).values.at(0), 45.1);
  const std::vector<SyncPoint> sync = timeline.sync_points();
  ASSERT_EQ(sync.size(), 3U);
  EXPECT_EQ(sync[1].number, 2U);
  EXPECT_EQ(sync[1].time_ns, std::llround(trace.fast[50].time_s * 1e9));
}

TEST(NvmtImport, TimesThatMakeNoSenseAreRefused) {
  for (const double wrong : {nan, std::numeric_limits<double>::infinity(), 1e300, -1e300, -1.0}) {
    NvmtTrace trace = random_trace({.fast = 10});
    trace.fast[7].time_s = wrong;
    TemporaryDirectory directory;
    try {
      import_nvmt(trace, "trace.nvmt", (directory / "a.kymo"));
      ADD_FAILURE() << wrong;
    } catch (const NvmtError& error) {
      EXPECT_EQ(std::string(error.what()).find("trace.nvmt: fast sample 7"), 0U) << error.what();
    }
  }
}

TEST(NvmtImport, WhateverATraceHoldsComesBackOrIsToldOrRefused) {
  const std::string whole =
      encode_nvmt(random_trace({.cores = 2, .rails = 2, .zones = 2, .fast = 6, .medium = 3, .slow = 2, .sync = 3}));
  std::mt19937_64 random(20);
  unsigned returned = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 255 : random());
    }
    NvmtTrace trace;
    NvmtImportReport report;
    std::string back;
    try {
      trace = parse_nvmt(std::as_bytes(std::span(bytes)), "changed");
      ASSERT_EQ(encode_nvmt(trace), bytes);
      back = export_of_import(trace, &report);
    } catch (const NvmtError&) {
      continue;
    }
    if (report.losses.empty()) {
      EXPECT_TRUE(back == bytes) << round;
      ++returned;
    }
  }
  EXPECT_GT(returned, 40U);
}

TEST(NvmtExport, FactsSayWhichColumnsThereAre) {
  SampledCapture capture;
  capture.info("nvmt.cores", "3");
  capture.info("nvmt.rail.0", "A");
  capture.info("nvmt.rail.1", "B");
  capture.info("nvmt.zone.0", "cpu-thermal");
  capture.info("nvmt.sync_base", "4");
  capture.sample(capture.metric("memory_used"), ms, 1024);
  capture.sample(capture.metric("cpu_util", {{"core", "7"}}), ms, 7);
  capture.sample(capture.metric("voltage", {{"rail", "C"}}), ms, 3);
  capture.sample(capture.metric("voltage", {{"rail", "B"}}), ms, 2);
  capture.sync(4, 0);
  capture.sync(5, 2 * ms);
  const NvmtTrace trace = capture.exported();
  EXPECT_EQ(trace.header.num_cpu_cores, 1);
  EXPECT_EQ(float{trace.fast.at(0).cpu_util[0]}, 7.0F);
  EXPECT_EQ(float{trace.fast.at(0).cpu_util[7]}, 0.0F);
  EXPECT_EQ(trace.header.num_power_rails, 2);
  EXPECT_EQ(field_text(trace.header.power_rail_names[0]), "A");
  EXPECT_EQ(std::uint32_t{trace.medium.at(0).voltage_mv[0]}, 0U);
  EXPECT_EQ(std::uint32_t{trace.medium.at(0).voltage_mv[1]}, 2000U);
  EXPECT_EQ(trace.header.num_thermal_zones, 1);
  ASSERT_EQ(trace.sync.size(), 1U);
  EXPECT_EQ(std::uint64_t{trace.sync[0].sync_id}, 1U);
}

TEST(NvmtExport, SyncPointsCountFromOneThoughTheProcessHadCountedBefore) {
  SampledCapture capture;
  capture.sample(capture.metric("memory_used"), ms, 1024);
  capture.sync(17, 0);
  capture.sync(18, 2 * ms);
  const NvmtTrace trace = capture.exported();
  ASSERT_EQ(trace.sync.size(), 2U);
  EXPECT_EQ(std::uint64_t{trace.sync[0].sync_id}, 1U);
  EXPECT_EQ(std::uint64_t{trace.sync[1].sync_id}, 2U);
}

TEST(NvmtImport, WhatACaptureDoesNotHoldIsTold) {
  NvmtTrace trace = random_trace({.cores = 4, .rails = 1, .zones = 1, .has_emc = false, .fast = 10, .sync = 2});
  trace.header.reserved[5] = 1;
  trace.fast[1].cpu_util[9] = 3;
  trace.fast[2].gpu_load = 2000;
  trace.fast[3].emc_util = 0;
  trace.fast[4].ram_used_kb = ~std::uint64_t{0};
  trace.sync[1].fast_sample_idx = 999;
  NvmtImportReport report;
  static_cast<void>(export_of_import(trace, &report));
  EXPECT_EQ(report.losses.size(), 6U);
}

}  // namespace
}  // namespace kymo::exchange
