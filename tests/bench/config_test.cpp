// Fingerprints: the digest that others compute too, and the edges of numbers and texts.
#include <gtest/gtest.h>

#include <kymo/bench.hpp>

#include <limits>
#include <stdexcept>
#include <string>

namespace kymo::test {
namespace {

std::string json_of(float value) {
  return ParameterSet().add("v", value).to_json();
}

std::string json_of_text(const std::string& text) {
  return ParameterSet().add("v", text).to_json();
}

TEST(Config, TheFingerprintIsThatOfTheCompactJson) {
  BenchConfig config{"abc1234", "def5678", 0.5F, 2, 0.01F, "-O3"};
  EXPECT_EQ(
      to_json(config),
      R"({"model_commit":"abc1234","weights_hash":"def5678","lambda":0.5,"tau":2,"eps":0.01,"compiler_flags":"-O3"})");
  EXPECT_EQ(config_hash(config), "8194ad7276a762e3eeee09d9d2cb18ab888c08854a9f3deaf87e92142bca82df");
}

TEST(Config, AnOrderedSetOfParametersHasTheSameFingerprint) {
  ParameterSet parameters;
  parameters.add("model_commit", "abc1234").add("weights_hash", "def5678").add("lambda", 0.5F).add("tau", 2);
  const std::string without = parameters.fingerprint();
  parameters.add("eps", 0.01F).add("compiler_flags", "-O3");
  EXPECT_EQ(parameters.fingerprint(), "8194ad7276a762e3eeee09d9d2cb18ab888c08854a9f3deaf87e92142bca82df");
  EXPECT_NE(without, parameters.fingerprint());
  // What printf '{}' | sha256sum says.
  EXPECT_EQ(ParameterSet().fingerprint(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

TEST(Config, FloatsAreShortestForTheirWidth) {
  EXPECT_EQ(json_of(1.0F), R"({"v":1.0})");
  EXPECT_EQ(json_of(0.0F), R"({"v":0.0})");
  EXPECT_EQ(json_of(-0.0F), R"({"v":-0.0})");
  EXPECT_EQ(json_of(0.3F), R"({"v":0.3})");
  EXPECT_EQ(json_of(-12.25F), R"({"v":-12.25})");
  EXPECT_EQ(json_of(1e-5F), R"({"v":0.00001})");
  EXPECT_EQ(json_of(1e-6F), R"({"v":1e-6})");
  EXPECT_EQ(json_of(1.5e-7F), R"({"v":1.5e-7})");
  EXPECT_EQ(json_of(16777216.0F), R"({"v":16777216.0})");
  EXPECT_EQ(json_of(1e12F), R"({"v":1000000000000.0})");
  EXPECT_EQ(json_of(1e13F), R"({"v":1e13})");
  EXPECT_EQ(json_of(std::numeric_limits<float>::max()), R"({"v":3.4028235e38})");
  EXPECT_EQ(json_of(std::numeric_limits<float>::denorm_min()), R"({"v":1e-45})");
  EXPECT_EQ(ParameterSet().add("v", 0.1).to_json(), R"({"v":0.1})");
  EXPECT_EQ(ParameterSet().add("v", 1e15).to_json(), R"({"v":1000000000000000.0})");
}

TEST(Config, EveryByteOfATextHasItsPlace) {
  EXPECT_EQ(json_of_text("a\"b\\c/d"), R"({"v":"a\"b\\c/d"})");
  EXPECT_EQ(json_of_text("\b\f\n\r\t"), R"({"v":"\b\f\n\r\t"})");
  EXPECT_EQ(json_of_text(std::string("\0\x01\x1f\x7f", 4)), "{\"v\":\"\\u0000\\u0001\\u001f\x7f\"}");
  EXPECT_EQ(json_of_text("\xC3\xA9\xF0\x9F\x98\x80"), "{\"v\":\"\xC3\xA9\xF0\x9F\x98\x80\"}");
  EXPECT_EQ(json_of_text("\xEF\xBF\xBD"), "{\"v\":\"\xEF\xBF\xBD\"}");
  EXPECT_EQ(json_of_text("\xC2\x9B"), "{\"v\":\"\xC2\x9B\"}") << "as others write it, whose hash is compared";
}

TEST(Config, WhatJsonCannotSayIsRefused) {
  EXPECT_THROW(json_of_text("\xFF"), std::invalid_argument);
  EXPECT_THROW(json_of_text("cut \xC3"), std::invalid_argument);
  EXPECT_THROW(json_of_text("\xED\xA0\x80"), std::invalid_argument);
  EXPECT_THROW(json_of(std::numeric_limits<float>::infinity()), std::invalid_argument);
  EXPECT_THROW(json_of(std::numeric_limits<float>::quiet_NaN()), std::invalid_argument);
  EXPECT_THROW(ParameterSet().add("a", 1).add("a", 2), std::invalid_argument);
}

TEST(Config, ReportsAreJson) {
  EXPECT_EQ(
      to_json(EnergyReport{1.5, 3, 4, 0.5, 6, 0, true, "idle"}),
      R"({"energy_j":1.5,"mean_watts":3,"peak_watts":4,"duration_s":0.5,"samples":6,"unknown_s":0,"is_counted":true,"label":"idle"})");
  EXPECT_EQ(
      to_json(MemoryReport{"base", 4096, 2048.5, 10, 20, 30, 2, 8192}),
      R"({"label":"base","peak_rss":4096,"mean_rss":2048.5,"kv_cache_total":10,"activation_total":20,"temp_buffer_total":30,"snapshots":2,"process_peak":8192})");
}

}  // namespace
}  // namespace kymo::test
