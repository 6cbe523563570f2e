// Witness bundles: whole ones, and every way to damage one.
#include <gtest/gtest.h>

#include <kymo/witness.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/sha256.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

const std::string config(64, 'a');

std::string mask_of(unsigned number) {
  const std::array<std::uint8_t, 2> gates{1, static_cast<std::uint8_t>(number % 3)};
  return mask_hash(gates.data(), gates.size());
}

WitnessEntry make_entry(unsigned number) {
  const std::array<float, 3> q{1.0F, 2.5F, static_cast<float>(number)};
  const std::array<float, 2> k{-1.0F, static_cast<float>(number)};
  return {tensor_hash(q.data(), q.size()),
          tensor_hash(k.data(), k.size()),
          {true, number % 2 == 0, true},
          0.5 * number,
          0.3F,
          2,
          0.01F,
          1'700'000'000'000'000'000 + number,
          number % 2 == 0 ? mask_of(number) : ""};
}

class Witness : public ::testing::Test {
 protected:
  std::string write(const std::string& name, unsigned entries, std::int64_t later = 0) const {
    WitnessWriter writer(directory_ / name, {config, "commit \"1\"", "weights"});
    for (unsigned number = 1; number <= entries; ++number) {
      WitnessEntry entry = make_entry(number);
      entry.timestamp += later;
      writer.add(entry);
    }
    head_ = writer.finish();
    return directory_ / name;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  WitnessReport verify(const std::string& text) const {
    const std::string path = directory_ / "damaged.jsonl";
    std::ofstream(path, std::ios::binary) << text;
    return verify_witness(path);
  }

  TemporaryDirectory directory_;
  mutable std::string head_;
};

TEST_F(Witness, AWholeBundleTellsWhatWasDecided) {
  const std::string path = write("run.jsonl", 3);
  std::vector<WitnessEntry> entries;
  const WitnessReport report =
      verify_witness(path, [&entries](const WitnessEntry& entry) { entries.push_back(entry); });
  ASSERT_TRUE(report.is_whole) << report.problem;
  EXPECT_EQ(report.head, head_);
  EXPECT_EQ(report.header.model_commit, "commit \"1\"");
  EXPECT_EQ(report.totals.entries, 3U);
  EXPECT_EQ(report.totals.gates, 9U);
  EXPECT_EQ(report.totals.kept, 7U);
  EXPECT_EQ(report.totals.mean_cut_cost, 1.0);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_TRUE(is_same_decision(entries[2], make_entry(3)));
  EXPECT_EQ(entries[2].timestamp, make_entry(3).timestamp);
  EXPECT_TRUE(verify_witness(write("empty.jsonl", 0)).is_whole);
}

TEST_F(Witness, ADecisionThatDropsOtherLogitsIsAnother) {
  WitnessEntry entry = make_entry(2);
  EXPECT_EQ(entry.mask_hash.size(), 64U);
  const auto bundle = [this](const std::string& name, const WitnessEntry& decision) {
    WitnessWriter writer(directory_ / name, {config, "", ""});
    writer.add(decision);
    writer.finish();
    return directory_ / name;
  };
  const std::string path = bundle("run", entry);
  EXPECT_TRUE(compare_witnesses(path, bundle("again", entry)).is_none());
  entry.mask_hash = mask_of(3);
  EXPECT_EQ(compare_witnesses(path, bundle("other", entry)).entry, 1U);
  entry.mask_hash.clear();
  EXPECT_EQ(compare_witnesses(path, bundle("without", entry)).entry, 1U);
}

TEST_F(Witness, ATensorIsHashedByItsBytes) {
  const std::array<float, 2> values{1.0F, -2.0F};
  // printf '\x00\x00\x80\x3f\x00\x00\x00\xc0' | sha256sum
  EXPECT_EQ(tensor_hash(values.data(), values.size()),
            "ee4ac73c2bd27756ab82780f27c73a7bc4d3f0bb6acb37e008bc27eccd7e588b");
}

TEST_F(Witness, OneFlippedBitAnywhereIsFoundAtItsLine) {
  const std::string path = write("run.jsonl", 2);
  const std::string whole = text_of(path);
  // In place: thousands of new files would take their time.
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&file](std::size_t at, unsigned value) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(value)).flush();
  };
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const auto byte = static_cast<unsigned char>(whole[at]);
    for (unsigned bit = 0; bit < 8; ++bit) {
      put(at, byte ^ (1U << bit));
      const WitnessReport report = verify_witness(path);
      ASSERT_FALSE(report.is_whole) << "byte " << at << " bit " << bit;
      ASSERT_EQ(report.line, line) << "byte " << at << " bit " << bit << ": " << report.problem;
    }
    put(at, byte);
    line += whole[at] == '\n' ? 1U : 0U;
  }
  EXPECT_TRUE(verify_witness(path).is_whole);
}

TEST_F(Witness, LinesTakenOutPutInMovedOrCutOffAreFound) {
  const std::string whole = text_of(write("run.jsonl", 3));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at) + 1;
    lines.push_back(whole.substr(at, end - at));
    at = end;
  }
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(verify(lines[0] + lines[2] + lines[3] + lines[4]).line, 2U);
  EXPECT_EQ(verify(lines[0] + lines[1] + lines[1] + lines[2] + lines[3] + lines[4]).line, 3U);
  EXPECT_EQ(verify(lines[0] + lines[2] + lines[1] + lines[3] + lines[4]).line, 2U);
  EXPECT_EQ(verify(lines[0] + lines[1] + lines[2] + lines[4]).line, 4U);
  EXPECT_EQ(verify(whole + lines[4]).line, 6U);
  EXPECT_EQ(verify(lines[1]).line, 1U);
  const std::string path = directory_ / "run.jsonl";
  for (std::size_t size = whole.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    ASSERT_FALSE(verify_witness(path).is_whole) << size;
  }
}

/// Whoever makes all hashes right can still write what is no number that a bundle may have.
std::string with_costs(const std::string& bundle, const std::string& cost) {
  std::string forged;
  std::string hash;
  std::string former_hash;
  std::istringstream lines(bundle);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::size_t hash_at = 66;  // from the end, before `"}`
    for (std::size_t at = line.find(former_hash); !former_hash.empty() && at != std::string::npos;
         at = line.find(former_hash, at + hash.size())) {
      line.replace(at, former_hash.size(), hash);
    }
    if (const std::size_t at = line.find("\"cut_cost\":"); at != std::string::npos) {
      line.replace(at + 11, line.find(',', at) - at - 11, cost);
    }
    former_hash = line.substr(line.size() - hash_at, 64);
    hash = bench::sha256_hex(line.substr(0, line.size() - hash_at - 9));
    line.replace(line.size() - hash_at, 64, hash);
    forged += line + '\n';
  }
  return forged;
}

TEST_F(Witness, CostsThatAreInfiniteOrAddUpToThatAreBrokenLinks) {
  const std::string bundle = text_of(write("run.jsonl", 2));
  EXPECT_EQ(verify(with_costs(bundle, "0.75")).problem, "");  // their mean
  EXPECT_EQ(verify(with_costs(bundle, "inf")).line, 2U);
  EXPECT_EQ(verify(with_costs(bundle, "nan")).line, 2U);
  EXPECT_EQ(verify(with_costs(bundle, "1.7e308")).line, 4U);
}

TEST_F(Witness, AnotherMachinesBundleIsComparedByWhatWasDecided) {
  const std::string left = write("left.jsonl", 3);
  EXPECT_TRUE(compare_witnesses(left, write("later.jsonl", 3, 5'000)).is_none());
  EXPECT_EQ(compare_witnesses(left, write("shorter.jsonl", 2)).entry, 3U);
  std::string other = text_of(left);
  other.pop_back();
  std::ofstream(directory_ / "other.jsonl") << other;
  EXPECT_THROW(static_cast<void>(compare_witnesses(left, directory_ / "other.jsonl")), BenchFileError);
}

TEST_F(Witness, WhatIsNotFinishedLeavesNothing) {
  const std::string path = directory_ / "run.jsonl";
  {
    WitnessWriter writer(path, {config, "", ""});
    writer.add(make_entry(1));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_THROW(WitnessWriter(path, {"no hash", "", ""}), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace kymo::test
