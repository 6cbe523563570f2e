// The bytes of NVMT files: as a reader finds them that was written from the description alone, and what is no NVMT.
#include "exchange/nvmt/format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "chrome_fixture.hpp"
#include "nvmt_fixture.hpp"

namespace kymo::exchange {
namespace {

using test::encode_nvmt;
using test::Json;
using test::random_trace;
using test::TemporaryDirectory;

std::string read_in_python(const std::string& path) {
  return test::output_of(KYMO_TEST_PYTHON " " KYMO_TEST_SCRIPTS "/nvmt_reader.py " + path);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string error_of(const std::string& bytes) {
  try {
    static_cast<void>(parse_nvmt(bytes_of(bytes), "a.nvmt"));
  } catch (const NvmtError& error) {
    return error.what();
  }
  return "no error";
}

/// NaN is null, as the script writes it.
Json number(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

/// What read_trace() is to return of a trace.
Json expected_of(const NvmtTrace& trace) {
  const nvmetrics::FileHeader& header = trace.header;
  Json expected;
  expected["board_name"] = std::string(field_text(header.board_name));
  expected["num_cpu_cores"] = header.num_cpu_cores;
  expected["num_power_rails"] = header.num_power_rails;
  expected["num_thermal_zones"] = header.num_thermal_zones;
  expected["emc_available"] = header.emc_available;
  expected["fast_hz"] = std::uint32_t{header.fast_hz};
  expected["medium_hz"] = std::uint32_t{header.medium_hz};
  expected["slow_hz"] = std::uint32_t{header.slow_hz};
  for (const char* const key : {"power_rail_names", "thermal_zone_names", "fast_time_s", "gpu_load", "cpu_util",
                                "cpu_aggregate", "ram_used_kb", "ram_available_kb", "emc_util", "medium_time_s",
                                "voltage_mv", "current_ma", "power_mw", "slow_time_s", "temp_c", "sync_id"}) {
    expected[key] = Json::array();
  }
  for (unsigned i = 0; i < header.num_power_rails; ++i) {
    expected["power_rail_names"].push_back(std::string(field_text(header.power_rail_names[i])));
  }
  for (unsigned i = 0; i < header.num_thermal_zones; ++i) {
    expected["thermal_zone_names"].push_back(std::string(field_text(header.thermal_zone_names[i])));
  }
  for (std::size_t row = 0; row < trace.fast.size(); ++row) {
    const nvmetrics::FastSample& sample = trace.fast[row];
    expected["fast_time_s"].push_back(number(sample.time_s));
    expected["gpu_load"].push_back(std::uint16_t{sample.gpu_load});
    Json cores = Json::array();
    for (unsigned core = 0; core < header.num_cpu_cores; ++core) {
      cores.push_back(number(double{sample.cpu_util[core]}));
    }
    expected["cpu_util"].push_back(cores);
    expected["cpu_aggregate"].push_back(number(double{sample.cpu_aggregate}));
    expected["ram_used_kb"].push_back(std::uint64_t{sample.ram_used_kb});
    expected["ram_available_kb"].push_back(std::uint64_t{sample.ram_available_kb});
    expected["emc_util"].push_back(number(double{sample.emc_util}));
    std::uint64_t sync_id = 0;
    for (const nvmetrics::SyncPoint& point : trace.sync) {
      sync_id = point.fast_sample_idx <= row ? std::uint64_t{point.sync_id} : sync_id;
    }
    expected["sync_id"].push_back(sync_id);
  }
  for (const nvmetrics::MediumSample& sample : trace.medium) {
    expected["medium_time_s"].push_back(number(sample.time_s));
    Json columns[3] = {Json::array(), Json::array(), Json::array()};
    for (unsigned rail = 0; rail < header.num_power_rails; ++rail) {
      columns[0].push_back(std::uint32_t{sample.voltage_mv[rail]});
      columns[1].push_back(std::uint32_t{sample.current_ma[rail]});
      columns[2].push_back(number(double{sample.power_mw[rail]}));
    }
    expected["voltage_mv"].push_back(columns[0]);
    expected["current_ma"].push_back(columns[1]);
    expected["power_mw"].push_back(columns[2]);
  }
  for (const nvmetrics::SlowSample& sample : trace.slow) {
    expected["slow_time_s"].push_back(number(sample.time_s));
    Json zones = Json::array();
    for (unsigned zone = 0; zone < header.num_thermal_zones; ++zone) {
      zones.push_back(number(double{sample.temp_c[zone]}));
    }
    expected["temp_c"].push_back(zones);
  }
  return expected;
}

TEST(Nvmt, AReaderWrittenFromTheDescriptionFindsEveryValue) {
  TemporaryDirectory directory;
  const std::string path = directory / "trace.nvmt";
  std::vector<test::TraceShape> shapes(5);
  shapes[1] = {.seed = 2, .cores = 16, .rails = 8, .zones = 16, .has_odd_times = true};
  shapes[2] = {
      .seed = 3, .cores = 1, .rails = 0, .zones = 0, .has_emc = false, .fast = 1, .medium = 0, .slow = 0, .sync = 1};
  shapes[3] = {.fast = 0, .medium = 0, .slow = 0, .sync = 0};
  shapes[4] = {.seed = 5, .cores = 6, .fast = 10, .sync = 0};
  for (const test::TraceShape& shape : shapes) {
    NvmtTrace trace = random_trace(shape);
    if (shape.seed == 2) {
      trace.fast[3].cpu_aggregate = std::numeric_limits<float>::quiet_NaN();
      trace.slow[1].temp_c[15] = std::numeric_limits<float>::quiet_NaN();
      trace.fast[4].ram_used_kb = std::numeric_limits<std::uint64_t>::max();
    }
    std::ofstream(path, std::ios::binary) << encode_nvmt(trace);
    const Json found = Json::parse(read_in_python(path), nullptr, false);
    EXPECT_EQ(found, expected_of(trace)) << "seed " << shape.seed;
    EXPECT_EQ(encode_nvmt(read_nvmt(path)), test::read_file(path));
  }
}

TEST(Nvmt, WhatIsNoTraceIsRefusedHereAndByTheOtherReader) {
  TemporaryDirectory directory;
  const std::string path = directory / "trace.nvmt";
  const std::string whole = encode_nvmt(random_trace({.fast = 3}));
  std::string bad_magic = whole;
  bad_magic[0] = 'X';
  std::string bad_version = whole;
  bad_version[4] = 2;
  const std::pair<std::string, std::string> wrong[] = {{whole.substr(0, 727), "too small"},
                                                       {"", "too small"},
                                                       {bad_magic, "Bad magic"},
                                                       {bad_version, "Unsupported version"}};
  for (const auto& [bytes, message] : wrong) {
    EXPECT_NE(error_of(bytes).find(message), std::string::npos) << error_of(bytes);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(read_in_python(path), "ValueError: " + message + "\n");
    EXPECT_THROW(static_cast<void>(read_nvmt(path)), NvmtError);
  }
  EXPECT_TRUE(is_nvmt(bytes_of(bad_version)));
  EXPECT_FALSE(is_nvmt(bytes_of(bad_magic)));
  EXPECT_FALSE(is_nvmt(bytes_of("")));
}

TEST(Nvmt, CountsThatDoNotAgreeWithTheSizeAreRefused) {
  const std::string whole = encode_nvmt(random_trace({.fast = 3, .medium = 2, .slow = 1, .sync = 1}));
  EXPECT_EQ(error_of(whole), "no error");
  for (std::size_t size = 728; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)).find("do not agree"), std::string::npos) << size;
  }
  EXPECT_NE(error_of(whole + 'x').find("do not agree"), std::string::npos);
  // Counts whose sizes wrap around to that of the file.
  for (const std::size_t at : {56U, 64U, 72U, 80U}) {
    for (const std::uint64_t count :
         {std::uint64_t{1} << 63U, ~std::uint64_t{0}, (~std::uint64_t{0} / 98) + 1, (~std::uint64_t{0} / 104) + 1,
          std::uint64_t{1} << 61U, std::uint64_t{1} << 60U, std::uint64_t{1'000'000'000}}) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &count, sizeof count);
      EXPECT_NE(error_of(bytes).find("do not agree"), std::string::npos) << at << ' ' << count;
    }
  }
}

TEST(Nvmt, MoreColumnsThanASampleHasAreRefused) {
  const std::string whole = encode_nvmt(random_trace({.fast = 3}));
  for (const auto& [at, most] : {std::pair{40, 16}, std::pair{41, 8}, std::pair{42, 16}}) {
    std::string bytes = whole;
    bytes[static_cast<std::size_t>(at)] = static_cast<char>(most);
    EXPECT_EQ(error_of(bytes), "no error");
    bytes[static_cast<std::size_t>(at)] = static_cast<char>(most + 1);
    EXPECT_NE(error_of(bytes).find("a.nvmt: the header says " + std::to_string(most + 1)), std::string::npos);
  }
}

TEST(Nvmt, NamesAreCutToTheirFieldsAndEndInNul) {
  char field[8];
  std::fill(std::begin(field), std::end(field), 'x');
  set_field(field, "short");
  EXPECT_EQ(std::string(field, 8), std::string("short\0\0\0", 8));
  set_field(field, "1234567890");
  EXPECT_EQ(std::string(field, 8), std::string("1234567\0", 8));
  set_field(field, "12345\xC3\xA4\xC3\xA4");
  EXPECT_EQ(field_text(field), "12345\xC3\xA4");
  std::fill(std::begin(field), std::end(field), 'x');
  EXPECT_EQ(field_text(field), "xxxxxxxx");
}

TEST(Nvmt, AFileThatCannotBeReadIsNamed) {
  for (const std::string path : {"/no/such.nvmt", "/dev/null"}) {
    try {
      static_cast<void>(read_nvmt(path));
      ADD_FAILURE() << path;
    } catch (const NvmtError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace kymo::exchange
