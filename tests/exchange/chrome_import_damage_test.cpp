// Chrome traces on bad days: the sound part is imported and what is left out is counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <zlib.h>

#include "import_fixture.hpp"

namespace kymo::exchange {
namespace {

using test::Imported;
using test::TemporaryDirectory;
using Texts = std::vector<std::string>;

std::string refusal(std::string_view trace) {
  try {
    const Imported imported(trace);
    return "imported";
  } catch (const ImportError& error) {
    const std::string what = error.what();
    return what.substr(what.find(": ") + 2);
  }
}

TEST(DamagedChromeTrace, WhatIsNoTraceIsRefusedWithTheByte) {
  EXPECT_EQ(refusal("12"), "no Chrome trace: byte 0: a trace is an array of events, or an object with traceEvents");
  EXPECT_EQ(refusal("{\"traceEvents\":[}"), "no Chrome trace: byte 16: '}' begins no value");
  EXPECT_EQ(refusal(""), "no Chrome trace: byte 0: a value is missing, and the text ends here");
  EXPECT_EQ(refusal(std::string(100'000, '[')),
            "no Chrome trace: byte 256: arrays and objects lie deeper within each other than 256");
  EXPECT_THROW(import_chrome_trace("/nonexistent/trace.json", "/tmp/x.kymo"), ImportError);
}

TEST(DamagedChromeTrace, WhatStandsBeforeTheBreakIsImported) {
  const Imported imported(R"([{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1},{"name":"b","ph":"X","ts":)");
  EXPECT_EQ(imported.spans().size(), 1U);
  EXPECT_EQ(imported.report.stopped, "byte 80: a value is missing, and the text ends here");
  EXPECT_TRUE(imported.report.is_damaged());
}

TEST(DamagedChromeTrace, EventsThatMakeNoSenseAreLeftOutAndCounted) {
  const Imported imported(
      "[{\"name\":\"good\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"pid\":1,\"tid\":1},"
      "17, {\"ph\":\"?\"}, {\"ph\":\"complete\"}, {},"
      "{\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":-1},"
      "{\"name\":\"a\",\"ph\":\"X\",\"ts\":1},"
      "{\"name\":\"a\",\"ph\":\"X\",\"ts\":NaN,\"dur\":1},"
      "{\"name\":\"a\",\"ph\":\"X\",\"ts\":1e300,\"dur\":1},"
      "{\"name\":\"a\",\"ph\":\"X\",\"dur\":1},"
      "{\"name\":[],\"ph\":\"i\",\"ts\":9},"
      "{\"ph\":\"E\",\"ts\":5}, {\"ph\":\"e\",\"id\":1,\"ts\":5}, {\"ph\":\"b\",\"ts\":5},"
      "{\"name\":\"open\",\"ph\":\"B\",\"ts\":6,\"pid\":2},"
      "{\"name\":\"\xFF\",\"ph\":\"i\",\"ts\":2,\"pid\":1,\"tid\":1}]");
  EXPECT_EQ(imported.report.spans, 2U);
  EXPECT_EQ(imported.report.messages, 2U);
  EXPECT_EQ(imported.lost("elements among the events that are no objects"), 1U);
  EXPECT_EQ(imported.lost("events of unknown phase \"?\""), 1U);
  EXPECT_EQ(imported.lost("events of unknown phase \"complete\""), 1U);
  EXPECT_EQ(imported.lost("events of unknown phase \"\""), 1U);
  EXPECT_EQ(imported.lost("spans with a negative duration"), 1U);
  EXPECT_EQ(imported.lost("spans without a duration that makes sense"), 1U);
  EXPECT_EQ(imported.lost("events whose time is no number"), 1U);
  EXPECT_EQ(imported.lost("events more than 146 years from time 0"), 1U);
  EXPECT_EQ(imported.lost("events without a time"), 1U);
  EXPECT_EQ(imported.lost("names, phases and numbers of processes that are neither text nor number"), 1U);
  EXPECT_EQ(imported.lost("ends of spans that did not begin"), 1U);
  EXPECT_EQ(imported.lost("ends of async spans that did not begin"), 1U);
  EXPECT_EQ(imported.lost("async events without an id"), 1U);
  EXPECT_EQ(imported.lost("ends of spans, which are open to the end of the capture"), 1U);
  EXPECT_EQ(imported.lost("texts with bytes that are not UTF-8, which were replaced"), 1U);
  EXPECT_TRUE(imported.report.is_damaged());
  EXPECT_EQ(imported.spans()[0], " 0+1000 good");
}

TEST(DamagedChromeTrace, BeginsThatOverlapCompleteSpansAreCutAndCounted) {
  const Imported imported(R"([
    {"name":"x","ph":"X","ts":0,"dur":10,"pid":1,"tid":1},
    {"name":"b","ph":"B","ts":5,"pid":1,"tid":1},
    {"ph":"E","ts":15,"pid":1,"tid":1},
    {"name":"c","ph":"B","ts":20,"pid":1,"tid":1},
    {"name":"y","ph":"X","ts":25,"dur":10,"pid":1,"tid":1},
    {"ph":"E","ts":30,"pid":1,"tid":1}])");
  EXPECT_EQ(imported.spans(), (Texts{" 0+10000 x", " 5000+5000 b", " 20000+10000 c", " 25000+5000 y"}));
  EXPECT_EQ(imported.lost("ends of spans that began within one that ended before them"), 1U);
  EXPECT_EQ(imported.lost("spans that are cut short by the end of the one around them"), 1U);
}

TEST(DamagedChromeTrace, NestingHasAnEnd) {
  std::string trace = "[";
  for (int i = 0; i < 10'100; ++i) {
    trace += R"({"name":"a","ph":"B","ts":1},)";
  }
  for (int i = 0; i < 10'100; ++i) {
    trace += R"({"ph":"E","ts":2},)";
  }
  const Imported begun(trace);
  EXPECT_EQ(begun.report.spans, 10'000U);
  EXPECT_EQ(begun.lost("spans more than 10,000 deep that have no duration of their own"), 100U);
  EXPECT_EQ(begun.lost("ends of spans that did not begin"), 0U);
  trace = "[";
  for (int i = 0; i < 10'100; ++i) {
    trace += R"({"name":"a","ph":"X","ts":1,"dur":5},)";
  }
  const Imported complete(trace);
  EXPECT_EQ(complete.report.spans, 10'100U);
  EXPECT_EQ(complete.timeline.spans(TrackId{2}).spans.size(), 100U);
}

std::string pack(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(CompressedChromeTrace, IsReadAsFarAsItIsSound) {
  std::mt19937 random(7);
  std::string trace = "[";
  for (int i = 0; i < 20'000; ++i) {
    trace += R"({"name":"a","ph":"X","ts":)" + std::to_string(i) + R"(,"dur":0.5,"args":{"n":)" +
             std::to_string(random()) + "}},";
  }
  const Imported plain(trace + "]");
  const std::string packed = pack(trace + "]");
  const Imported whole(packed);
  EXPECT_EQ(whole.spans(), plain.spans());
  EXPECT_FALSE(whole.report.is_damaged());
  const Imported members(pack(trace.substr(0, 1000)) + pack(trace.substr(1000)));
  EXPECT_EQ(members.spans(), plain.spans());
  EXPECT_FALSE(members.report.is_damaged());

  const std::size_t half = packed.size() / 2;
  const Imported torn(packed.substr(0, half));
  EXPECT_EQ(torn.report.stopped,
            "byte " + std::to_string(half) + " of the compressed file: the compressed data ends too early");
  EXPECT_GT(torn.report.spans, 5000U);
  EXPECT_LT(torn.report.spans, 15'000U);
  // An array needs no end, but a file that lacks its checksum was cut.
  EXPECT_TRUE(Imported(packed.substr(0, packed.size() - 1)).report.is_damaged());
  std::string damaged = packed;
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 1);
  EXPECT_NE(Imported(damaged).report.stopped.find("the compressed data is damaged"), std::string::npos);
  EXPECT_EQ(refusal("\x1F\x8B"), "no Chrome trace: byte 2 of the compressed file: the compressed data ends too early");
}

TEST(CompressedChromeTrace, ABombIsNotUnpacked) {
  const Imported bomb(pack(R"([{"name":"a","ph":"X","ts":1,"dur":1})" + std::string(std::size_t{40} << 20U, ' ')));
  EXPECT_NE(bomb.report.stopped.find("the data grows to more than 300 times its size"), std::string::npos);
  EXPECT_EQ(bomb.report.spans, 1U);
}

TEST(DamagedChromeTrace, HugeTextsAndManyArgumentsAreCut) {
  std::string trace = R"([{"name":")" + std::string(100'000, 'n') + R"(","ph":"X","ts":0,"dur":1,"args":{"s":")" +
                      std::string(100'000, 's') + '"';
  for (int i = 0; i < 1000; ++i) {
    trace += ",\"k" + std::to_string(i) + "\":" + std::to_string(i);
  }
  const Imported imported(trace + "}}]");
  const std::string& name = imported.timeline.declarations().sites[0].name;
  EXPECT_EQ(name.substr(0, 65'540), std::string(65'536, 'n') + "\xE2\x80\xA6#");
  EXPECT_EQ(name.size(), 65'540U + 16);
  const SpanList spans = imported.timeline.spans(TrackId{1});
  ASSERT_EQ(spans.arguments.size(), 256U);
  EXPECT_EQ(spans.text_of(spans.arguments[0]), std::string(4096, 's'));
  EXPECT_TRUE(spans.arguments[0].is_cut);
  EXPECT_EQ(imported.lost("arguments beyond 256 or 64 KiB of one event"), 745U);
}

TEST(DamagedChromeTrace, ShuffledEventsSortedThroughAFileGiveTheSame) {
  std::vector<std::string> events;
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const int track = i % 3;
    events.push_back("{\"name\":\"f" + std::to_string(i % 7) + "\",\"ph\":\"X\",\"ts\":" + std::to_string(i / 3 * 10) +
                     ",\"dur\":" + std::to_string(i % 10) + ".125,\"pid\":1,\"tid\":" + std::to_string(track) +
                     ",\"args\":{\"i\":" + std::to_string(i) + "}}");
  }
  const auto join = [&events] {
    std::string trace = "[";
    for (const std::string& event : events) {
      trace += event + ",\n";
    }
    return trace;
  };
  Texts expected = Imported(join()).spans();
  std::shuffle(events.begin(), events.end(), random);
  ImportOptions little;
  little.memory = 100'000;
  Texts spans = Imported(join(), little).spans();
  std::sort(expected.begin(), expected.end());
  std::sort(spans.begin(), spans.end());
  EXPECT_EQ(expected.size(), 20'000U);
  EXPECT_EQ(spans, expected);
}

TEST(DamagedChromeTrace, AFailedImportLeavesNoCapture) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "t.json") << "nonsense";
  EXPECT_THROW(import_chrome_trace(directory / "t.json", directory / "t.kymo"), ImportError);
  EXPECT_FALSE(std::filesystem::exists(directory / "t.kymo"));
  std::ofstream(directory / "e.json") << "[]";
  EXPECT_ANY_THROW(import_chrome_trace(directory / "e.json", "/nonexistent/t.kymo"));
}

}  // namespace
}  // namespace kymo::exchange
