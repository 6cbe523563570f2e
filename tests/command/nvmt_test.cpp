// NVMT through the command: import, export, recover.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <kymo/nvmetrics.hpp>

#include "capture/write/capture_writer.hpp"
#include "command_fixture.hpp"

namespace kymo::test {
namespace {

class NvmtCommand : public CommandTest {
 protected:
  /// A trace with three fast samples and a sync point before the last; its bytes.
  [[nodiscard]] std::string write_trace(const std::string& name) const {
    nvmetrics::FileHeader header{};
    header.magic = nvmetrics::magic;
    header.version = nvmetrics::version;
    std::string("orin_nx").copy(header.board_name, sizeof header.board_name - 1);
    header.num_cpu_cores = 2;
    header.fast_hz = 1000;
    header.medium_hz = 100;
    header.slow_hz = 10;
    header.num_fast_samples = 3;
    header.num_sync_points = 1;
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    for (unsigned i = 0; i < 3; ++i) {
      nvmetrics::FastSample sample{};
      sample.time_s = i / 1000.0;
      sample.gpu_load = static_cast<std::uint16_t>(100 + i);
      sample.cpu_util[1] = 33.333F;
      sample.ram_used_kb = 1000 + i;
      sample.emc_util = -1;
      bytes.append(reinterpret_cast<const char*>(&sample), sizeof sample);
    }
    const nvmetrics::SyncPoint point{1, 2};
    bytes.append(reinterpret_cast<const char*>(&point), sizeof point);
    std::ofstream(file_named(name), std::ios::binary) << bytes;
    return bytes;
  }

  /// A capture whose writer came to no end, with `count` samples of memory_used a millisecond apart.
  void write_sampled_capture(const std::string& name, int count) const {
    capture::CaptureWriterOptions options;
    options.declarations.processes.emplace_back().id = ProcessId{1};
    MetricDeclaration metric;
    metric.id = MetricId{1};
    metric.name = "memory_used";
    options.declarations.metrics.push_back(metric);
    capture::CaptureWriter writer(file_named(name), std::move(options));
    EventBatch batch;
    SampleRun& run = batch.samples.emplace_back();
    run.metric = MetricId{1};
    for (int i = 0; i < count; ++i) {
      run.times_ns.push_back(i * 1'000'000);
      run.values.push_back(4096);
    }
    batch.end_ns = run.times_ns.back();
    writer.write(batch);
  }
};

TEST_F(NvmtCommand, AnImportedTraceIsExportedToTheByte) {
  const std::string bytes = write_trace("a.nvmt");
  const CommandResult imported = kymo({"import", "-o", "a.kymo", "a.nvmt"});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(imported.out, "a.nvmt: 3 samples and 1 sync point are in a.kymo now\n");
  EXPECT_EQ(imported.err, "");
  const CommandResult exported = kymo({"export", "--to", "nvmt", "-o", "b.nvmt", "a.kymo"});
  EXPECT_EQ(exported.status, 0) << exported.err;
  EXPECT_TRUE(read_text(file_named("b.nvmt")) == bytes);
  // Neither the trace's capture nor another one is overwritten.
  EXPECT_EQ(kymo({"import", "--from", "nvmt", "-o", "a.kymo", "a.nvmt"}).out,
            "a.nvmt: 3 samples and 1 sync point are in a-1.kymo now\n");
  EXPECT_EQ(kymo({"info", "a.kymo"}).status, 0);
}

TEST_F(NvmtCommand, WhatIsNoTraceIsNotImported) {
  static_cast<void>(write_trace("a.nvmt"));
  std::filesystem::resize_file(file_named("a.nvmt"), 900);
  CommandResult result = kymo({"import", "-o", "a.kymo", "a.nvmt"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("a.nvmt: the counts in the header do not agree"), std::string::npos) << result.err;
  std::ofstream(file_named("text")) << "some text";
  result = kymo({"import", "-o", "a.kymo", "text"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("text: the format is not known"), std::string::npos) << result.err;
  result = kymo({"import", "-o", "a.kymo", "--from", "nvmt", "text"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("too small"), std::string::npos) << result.err;
  EXPECT_EQ(kymo({"import", "-o", "a.kymo", "none"}).status, 1);
  EXPECT_EQ(kymo({"import", "-o", "a.kymo", "--from", "cheese", "text"}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(file_named("a.kymo")));
}

TEST_F(NvmtCommand, ATraceNeedsAMachineThatWasSampled) {
  make_capture("a.kymo");
  const CommandResult result = kymo({"export", "--to", "nvmt", "-o", "a.nvmt", "a.kymo"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("memory_used"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(file_named("a.nvmt")));
  EXPECT_EQ(kymo({"export", "--to", "nvmt", "--process", "9", "-o", "a.nvmt", "a.kymo"}).status, 1);
}

TEST_F(NvmtCommand, RecoverWritesTheTraceBesideTheCapture) {
  for (const std::string name : {"a.nvmt.kymo", "a.kymo"}) {
    write_sampled_capture(name, 250);
    const CommandResult result = kymo({"recover", "--to", "nvmt", name});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("a.nvmt: written\n"), std::string::npos) << result.out;
    EXPECT_EQ(read_text(file_named("a.nvmt")).size(), 728U + 250U * 98);
    std::filesystem::remove(file_named("a.nvmt"));
    // Once more, of a capture that is whole.
    EXPECT_EQ(kymo({"recover", "--json", "--to", "nvmt", name}).status, 0);
    EXPECT_EQ(read_text(file_named("a.nvmt")).size(), 728U + 250U * 98);
    std::filesystem::remove(file_named("a.nvmt"));
  }
}

}  // namespace
}  // namespace kymo::test
