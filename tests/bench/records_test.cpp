// CSV files of records: what is written, read back, and refused.
#include <gtest/gtest.h>

#include <kymo/bench.hpp>
#include <kymo/latency_stats.hpp>

#include <clocale>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

const std::string result_header =
    "setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy\n";

std::string problem_of(const std::string& text) {
  try {
    static_cast<void>(parse_csv<ResultRow>(text, "r.csv"));
  } catch (const BenchFileError& error) {
    return error.what();
  }
  return "none";
}

TEST(Records, AreWrittenAsTheirColumnsSay) {
  EXPECT_EQ(to_csv(std::vector<LatencyRecord>{{7, 12.5, 0.1, 1024}}),
            "sample_id,wall_time_us,kernel_time_us,seq_len\n7,12.5,0.1,1024\n");
  EXPECT_EQ(to_csv(std::vector<MemorySnapshot>{{-5, 2, {3, 4, 5}, 6, 7}}),
            "timestamp_us,peak_rss_bytes,kv_cache_bytes,activation_bytes,temp_buffer_bytes\n-5,2,3,4,5\n");
  EXPECT_EQ(to_csv(std::vector<PowerSample>{{12.5, 40}, {12.625, 0.1}}), "time_s,watts\n12.5,40\n12.625,0.1\n");
  EXPECT_EQ(to_csv(std::vector<BaselineRecord>{{1, 16, 1e-7, 2, no_value}}),
            "sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j\n1,16,1e-07,2,\n");
  EXPECT_EQ(
      to_csv(std::vector<ResultRow>{{"a,\"b\"\nc", 0.5, -1, 2, no_value, 3e300, 1}, {"plain text", 0, 0, 0, 0, 0, 0}}),
      result_header + "\"a,\"\"b\"\"\nc\",0.5,-1,2,,3e+300,1\nplain text,0,0,0,0,0,0\n");
}

TEST(Records, ReadBackAsTheyWere) {
  const TemporaryDirectory directory;
  const std::string path = directory / "results.csv";
  const std::vector<ResultRow> rows{
      {"quoted \"\r\n, text", 0.1 + 0.2, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, no_value},
      {"", 1, 2, 3, 4, 5, 6}};
  write_csv(path, rows);
  const std::vector<ResultRow> read = read_csv<ResultRow>(path);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(to_csv(read), to_csv(rows));
  EXPECT_EQ(read[0].setting, rows[0].setting);
  EXPECT_EQ(read[0].coherence_delta, 0.1 + 0.2);
  EXPECT_EQ(read[0].peak_mem_reduction, 5e-324);
  EXPECT_TRUE(std::signbit(read[0].p95_latency_us));
  EXPECT_TRUE(std::isnan(read[0].accuracy));

  const std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  const auto latencies = parse_csv<LatencyRecord>(to_csv(std::vector<LatencyRecord>{{greatest, 1, 2, greatest}}));
  EXPECT_EQ(latencies.at(0).sample_id, greatest);
  EXPECT_EQ(parse_csv<MemorySnapshot>(to_csv(std::vector<MemorySnapshot>{{-1, 2, {3, 4, 5}}})).at(0).timestamp_us, -1);
  EXPECT_EQ(parse_csv<PowerSample>("time_s,watts\n1,2.5\n").at(0).watts, 2.5);
  EXPECT_EQ(parse_csv<BaselineRecord>(to_csv(std::vector<BaselineRecord>{{1, 2, 3, 4, 5}})).at(0).energy_j, 5);
}

TEST(Records, HaveTheStatisticsOfTheirWallTimes) {
  const LatencyStats stats = LatencyStats::of(std::vector<LatencyRecord>{{0, 30, 1, 8}, {1, 10, 2, 8}, {2, 20, 3, 8}});
  EXPECT_EQ(stats.n, 3U);
  EXPECT_EQ(stats.p50, 20);
  EXPECT_EQ(stats.p95, 30);
  EXPECT_EQ(stats.mean, 20);
  EXPECT_EQ(LatencyStats::of(std::vector<BaselineRecord>{{0, 8, 7.5, 1, 2}}).p50, 7.5);
  EXPECT_EQ(LatencyStats::of(std::vector<LatencyRecord>()).n, 0U);
}

TEST(Records, ReadWindowsLineEndsAndAMissingLastOne) {
  const auto records =
      parse_csv<LatencyRecord>("sample_id,wall_time_us,kernel_time_us,\"seq_len\"\r\n1,\"2\",3,\"4\"\r\n5,6,7,8");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].seq_len, 4U);
  EXPECT_EQ(records[1].seq_len, 8U);
}

TEST(Records, NumbersIgnoreTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    std::setlocale(LC_ALL, "C");
  }
  EXPECT_EQ(to_csv(std::vector<LatencyRecord>{{1, 1234.5, 0, 0}}),
            "sample_id,wall_time_us,kernel_time_us,seq_len\n1,1234.5,0,0\n");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Records, ErrorsNameFileLineAndReason) {
  EXPECT_EQ(problem_of(""), "r.csv: the file is empty; there should be a header line");
  EXPECT_EQ(problem_of("a,b\n"), "r.csv:1: the header is not " + result_header.substr(0, result_header.size() - 1));
  EXPECT_EQ(problem_of(result_header + "a,1,2,3,4,5,6\n\nb"), "r.csv:3: there are 1 fields where the header has 7");
  EXPECT_EQ(problem_of(result_header + "\"a\nb\",1,2,3,4,5,6\nc,1,2,3,4,5,6x\n"),
            "r.csv:4: accuracy is \"6x\", which is not a number that fits");
  EXPECT_EQ(problem_of(result_header + "a,1e999,2,3,4,5,6\n"),
            "r.csv:2: coherence_delta is \"1e999\", which is not a number that fits");
  EXPECT_EQ(problem_of(result_header + "a,0x10,2,3,4,5,6\n"),
            "r.csv:2: coherence_delta is \"0x10\", which is not a number that fits");
  EXPECT_EQ(problem_of(result_header + "\"a,1\n,2\n"), "r.csv:2: a quote that opens a field is never closed");
  EXPECT_EQ(problem_of(result_header + "\"a\"b,1,2,3,4,5,6\n"), "r.csv:2: there is text behind a closing quote");
  EXPECT_EQ(problem_of(result_header + "a\"b,1,2,3,4,5,6\n"),
            "r.csv:2: a quote stands inside a field that does not begin with one");
  const std::string wild = problem_of(result_header + "a," + std::string(100, '\x01') + ",2,3,4,5,6\n");
  EXPECT_NE(wild.find("\\u0001"), std::string::npos);
  EXPECT_THROW(static_cast<void>(read_csv<LatencyRecord>("/nonexistent/file.csv")), std::runtime_error);
}

TEST(Records, EveryPrefixOfAFileIsReadOrRefused) {
  const std::string whole =
      to_csv(std::vector<ResultRow>{{"a,\"b\"\nc", 0.5, -1, 2, no_value, 3e300, 1}, {"d", 1, 2, 3, 4, 5, 6}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      EXPECT_LE(parse_csv<ResultRow>(whole.substr(0, size)).size(), 2U);
    } catch (const BenchFileError&) {
    }
  }
}

TEST(Records, AFullDiskLeavesTheOldFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "latency.csv";
  write_csv(path, std::vector<LatencyRecord>{{1, 2, 3, 4}});
  EXPECT_THROW(write_csv("/dev/full", std::vector<LatencyRecord>{{5, 6, 7, 8}}), std::runtime_error);
  EXPECT_THROW(write_csv(directory / "missing/latency.csv", std::vector<LatencyRecord>{}), std::runtime_error);
  EXPECT_EQ(read_csv<LatencyRecord>(path).at(0).sample_id, 1U);
}

}  // namespace
}  // namespace kymo::test
