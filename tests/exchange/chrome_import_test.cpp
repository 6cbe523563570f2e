// Chrome traces as captures: what becomes what.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exchange/chrome/event_reader.hpp"
#include "import_fixture.hpp"

namespace kymo::exchange {
namespace {

using test::Imported;
using Texts = std::vector<std::string>;

TEST(ChromeImport, TimesAreExactToTheNanosecond) {
  const auto ns = [](const char* text) { return parse_microseconds(text).ns; };
  EXPECT_EQ(ns("12.345"), 12'345);
  EXPECT_EQ(ns("1700000000000000.123"), 1'700'000'000'000'000'123);
  EXPECT_EQ(ns("-0.0015"), -2);
  EXPECT_EQ(ns("0.0004999999999999999999999"), 0);
  EXPECT_EQ(ns("1.5e3"), 1'500'000);
  EXPECT_EQ(ns("1E-3"), 1);
  EXPECT_EQ(ns("4611686018427387.904"), std::int64_t{1} << 62U);
  EXPECT_EQ(ns("0e999999999999"), 0);
  for (const char* const text : {"4611686018427387.905", "1e17", "1e999999999999", "99999999999999999999"}) {
    EXPECT_EQ(parse_microseconds(text).kind, ChromeTime::Kind::out_of_range) << text;
  }
  for (const char* const text : {"", "NaN", "Infinity", "1.2.3", "1e", ".", "-", "1 "}) {
    EXPECT_EQ(parse_microseconds(text).kind, ChromeTime::Kind::unreadable) << text;
  }
}

TEST(ChromeImport, SpansOfAThreadNestInWhateverOrderTheyCome) {
  const Imported imported(R"([
    {"name":"inner","ph":"X","ts":2,"dur":1,"pid":7,"tid":8},
    {"name":"later","ph":"X","ts":11,"dur":0.5,"pid":7,"tid":8},
    {"name":"outer","ph":"X","ts":1,"dur":10,"pid":7,"tid":8},
    {"name":"M","ph":"M"},
    {"name":"elsewhere","ph":"X","ts":1.5,"dur":100,"pid":7,"tid":"io"},
    {"name":"thread_name","ph":"M","pid":7,"tid":8,"args":{"name":"main"}},
    {"name":"process_name","ph":"M","pid":7,"args":{"name":"program"}}])");
  EXPECT_EQ(imported.spans(), (Texts{"main 1000+10000 outer", "main 2000+1000 inner", "main 11000+500 later",
                                     "io 1500+100000 elsewhere"}));
  const SpanList spans = imported.timeline.spans(TrackId{1});
  EXPECT_EQ(spans.spans[1].depth, 1);
  EXPECT_EQ(spans.spans[0].self_ns, 9000);
  EXPECT_EQ(imported.timeline.processes()[0].declaration.pid, 7U);
  EXPECT_EQ(imported.timeline.processes()[0].declaration.command_line, "program");
  EXPECT_EQ(imported.timeline.tracks()[0].os_thread_id, 8U);
  EXPECT_FALSE(imported.report.is_damaged());
}

TEST(ChromeImport, BeginsAndEndsMixWithCompleteSpansOfTheSameTime) {
  const Imported imported(R"([
    {"name":"a","ph":"B","ts":0,"pid":1,"tid":1,"args":{"x":1}},
    {"name":"c","ph":"B","ts":3,"pid":1,"tid":1},
    {"ph":"E","ts":3,"pid":1,"tid":1},
    {"ph":"E","ts":5,"pid":1,"tid":1,"args":{"y":2}},
    {"name":"d","ph":"B","ts":5,"pid":1,"tid":1},
    {"ph":"E","ts":7,"pid":1,"tid":1},
    {"name":"b","ph":"X","ts":5,"dur":5,"pid":1,"tid":1}])");
  EXPECT_FALSE(imported.report.is_damaged());
  EXPECT_EQ(imported.report.spans, 4U);
  EXPECT_EQ(imported.spans(), (Texts{" 0+5000 a (x=1, y=2)", " 3000+0 c", " 5000+5000 b", " 5000+2000 d"}));
}

TEST(ChromeImport, SpansThatOverlapGoBesideTheirThread) {
  const Imported imported(R"([
    {"name":"a","cat":"k","ph":"X","ts":0,"dur":10,"pid":1,"tid":1},
    {"name":"b","cat":"k","ph":"X","ts":5,"dur":10,"pid":1,"tid":1,"args":{"n":1}}])");
  EXPECT_EQ(imported.spans(), (Texts{" 0+10000 a (category=\"k\")", "thread 1 (overlapping) 5000+10000 b (n=1)"}));
  EXPECT_EQ(imported.timeline.name(imported.timeline.spans(TrackId{2}).spans[0].category), "k");
  EXPECT_FALSE(imported.report.is_damaged());
}

TEST(ChromeImport, ArgumentsAreFlattenedAndArraysKeptAsJson) {
  const Imported imported(R"([{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1,"args":{
    "i":-3,"u":18446744073709551615,"f":0.5,"t":true,"s":"\u00e9\n","n":null,"big":1e999,
    "o":{"p":{"q":1},"r":"x"},"l":[1,[2.50,"\"",null],{"k":false}],"e":{}}}])");
  EXPECT_EQ(imported.spans(),
            Texts{" 0+1000 a (i=-3, u=18446744073709551615, f=0.500000, t=true, s=\"\xC3\xA9\n\", big=inf, "
                  "o.p.q=1, o.r=\"x\", l=\"[1,[2.50,\"\\\"\",null],{\"k\":false}]\")"});
  EXPECT_EQ(imported.lost("arguments that are null"), 1U);
}

TEST(ChromeImport, CountersBecomeMetrics) {
  const Imported imported(R"([
    {"name":"mem","ph":"C","ts":2,"pid":1,"args":{"used":5,"free":6.5}},
    {"name":"mem","ph":"C","ts":1,"pid":1,"args":{"used":4,"free":"7","odd":"x"}},
    {"name":"power {rail=GPU, board=1}","cat":"metric","ph":"C","ts":3,"pid":1,"args":{"W":2.5}},
    {"name":"queue","id":"0x2","ph":"C","ts":3,"pid":1,"args":{"value":1}}])");
  const auto& metrics = imported.timeline.declarations().metrics;
  ASSERT_EQ(metrics.size(), 4U);
  using Labels = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(metrics[0].name, "mem");
  EXPECT_EQ(metrics[0].labels, (Labels{{"series", "used"}}));
  EXPECT_EQ(imported.timeline.series(MetricId{1}).times_ns, (std::vector<std::int64_t>{1000, 2000}));
  EXPECT_EQ(imported.timeline.series(MetricId{1}).values, (std::vector<double>{4, 5}));
  EXPECT_EQ(imported.timeline.series(MetricId{2}).values, (std::vector<double>{7, 6.5}));
  EXPECT_EQ(metrics[2].name, "power");
  EXPECT_EQ(metrics[2].unit, "W");
  EXPECT_EQ(metrics[2].labels, (Labels{{"rail", "GPU"}, {"board", "1"}}));
  EXPECT_EQ(metrics[3].name, "queue[0x2]");
  EXPECT_TRUE(metrics[3].labels.empty());
  EXPECT_EQ(imported.lost("values of counters that are no numbers"), 1U);
}

TEST(ChromeImport, AsyncSpansOfOneIdNest) {
  const Imported imported(R"([
    {"name":"load","cat":"io","id":1,"ph":"b","ts":1,"pid":1,"tid":1,"args":{"a":1}},
    {"name":"part","cat":"io","id":"0x1","ph":"b","ts":2,"pid":1,"tid":1},
    {"name":"mark","cat":"io","id":1,"ph":"n","ts":2,"pid":1,"tid":1},
    {"name":"other","cat":"io","id":"two","ph":"b","ts":3,"pid":1,"tid":1},
    {"name":"part","cat":"io","id":1,"ph":"e","ts":4,"pid":1,"tid":2},
    {"name":"load","cat":"io","id2":{"local":"1"},"ph":"e","ts":5,"pid":1,"tid":1,"args":{"b":2}},
    {"name":"other","cat":"io","id":"two","ph":"e","ts":9,"pid":1,"tid":1},
    {"name":"load","cat":"net","id":1,"ph":"b","ts":1,"pid":1,"tid":1}])");
  Texts spans = imported.spans();
  std::sort(spans.begin(), spans.end());
  EXPECT_EQ(spans,
            (Texts{"io 1000+4000 load (a=1, b=2)", "io 2000+2000 part", "io 3000+6000 other", "net 1000+8000 load"}));
  EXPECT_EQ(imported.lost("ends of spans, which are open to the end of the capture"), 1U);
  EXPECT_EQ(imported.lost("instants of async spans (phase n)"), 1U);
}

// As templates of kernels do, the names differ in their last byte only.
TEST(ChromeImport, LongNamesStayDifferent) {
  std::string trace = "[";
  const auto add = [&trace](const std::string& name) {
    trace += R"({"name":")" + name + R"(","ph":"X","ts":0,"dur":1,"pid":1,"tid":1},)";
  };
  for (const std::size_t size : {1024U, 5000U, 65'535U}) {
    add(std::string(size, 'k') + 'a');
    add(std::string(size, 'k') + 'b');
  }
  const Imported whole(trace + "]");
  ASSERT_EQ(whole.timeline.declarations().sites.size(), 6U);
  EXPECT_EQ(whole.timeline.declarations().sites[5].name, std::string(65'535, 'k') + 'b');
  EXPECT_TRUE(whole.report.losses.empty());

  trace = "[";
  add(std::string(200'000, 'k') + 'a');
  add(std::string(200'000, 'k') + 'b');
  add(std::string(65'534, 'k') + "\xE2\x82\xAC" + 'a');
  add(std::string(65'534, 'k') + "\xE2\x82\xAC" + 'b');
  add(std::string(200'000, 'k') + 'b');
  const Imported hashed(trace + "]");
  EXPECT_EQ(hashed.timeline.declarations().sites.size(), 4U);
  EXPECT_EQ(hashed.lost("names longer than 64 KiB, whose rest is a hash"), 5U);
  EXPECT_FALSE(hashed.report.is_damaged());
}

TEST(ChromeImport, AsyncSpansOfTheOldFormHaveSteps) {
  const Imported imported(R"([
    {"name":"load","cat":"io","id":1,"ph":"S","ts":1,"pid":1,"tid":1,"args":{"a":1}},
    {"name":"save","cat":"io","id":1,"ph":"S","ts":2,"pid":1,"tid":1},
    {"name":"load","cat":"io","id":1,"ph":"F","ts":9,"pid":1,"tid":2},
    {"name":"load","cat":"io","id":1,"ph":"T","ts":5,"pid":1,"tid":1,"args":{"step":"parse"}},
    {"name":"load","cat":"io","id":1,"ph":"T","ts":7,"pid":1,"tid":1,"args":{"step":"store"}},
    {"name":"save","cat":"io","id":1,"ph":"p","ts":4,"pid":1,"tid":1,"args":{"step":"write"}},
    {"name":"save","cat":"io","id":1,"ph":"p","ts":7,"pid":1,"tid":1,"args":{"step":"sync"}},
    {"name":"save","cat":"io","id":1,"ph":"F","ts":8,"pid":1,"tid":1},
    {"name":"none","cat":"io","id":1,"ph":"T","ts":8,"pid":1,"tid":1}])");
  Texts spans = imported.spans();
  std::sort(spans.begin(), spans.end());
  EXPECT_EQ(spans, (Texts{"io 1000+8000 load (a=1)", "io 2000+2000 write (step=\"write\")", "io 2000+6000 save",
                          "io 4000+3000 sync (step=\"sync\")", "io 5000+2000 parse (step=\"parse\")",
                          "io 7000+2000 store (step=\"store\")"}));
  EXPECT_EQ(imported.report.spans, 6U);
  EXPECT_EQ(imported.lost("steps of async spans that did not begin"), 1U);
}

TEST(ChromeImport, PhasesWithoutAPlaceAreNoDamage) {
  const Imported imported(R"([
    {"name":"loadEventEnd","ph":"R","ts":4,"pid":1,"tid":1},
    {"name":"o","id":1,"ph":"N","ts":1,"pid":1,"tid":1}, {"name":"o","id":1,"ph":"O","ts":2,"pid":1,"tid":1},
    {"name":"o","id":1,"ph":"D","ts":3,"pid":1,"tid":1}, {"name":"sample","ph":"P","ts":3,"pid":1,"tid":1}])");
  EXPECT_FALSE(imported.report.is_damaged());
  ASSERT_EQ(imported.report.messages, 1U);
  EXPECT_EQ(imported.timeline.messages()[0].text, "loadEventEnd");
  EXPECT_EQ(imported.lost("objects and their states (phases N, O and D)"), 3U);
  EXPECT_EQ(imported.lost("samples of stacks (phase P)"), 1U);
}

TEST(ChromeImport, InstantsBecomeMessagesAndFlowsKeepTheirIds) {
  const Imported imported(R"([
    {"name":"gc","ph":"i","s":"g","ts":3,"pid":1,"tid":1,"args":{"n":2,"why":"full"}},
    {"name":"start","ph":"I","ts":1,"pid":1,"tid":2},
    {"name":"f","cat":"x","ph":"s","id":"0x10","ts":1,"pid":1,"tid":1},
    {"name":"f","cat":"x","ph":"t","id":16,"ts":2,"pid":1,"tid":2},
    {"name":"f","cat":"x","ph":"f","bp":"e","id":"16","ts":3,"pid":1,"tid":3},
    {"name":"g","cat":"x","ph":"s","id":16,"ts":4,"pid":1,"tid":1}])");
  const std::vector<Message> messages = imported.timeline.messages();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].text, "start");
  EXPECT_EQ(messages[1].text, "gc: n=2, why=full");
  EXPECT_EQ(messages[1].time_ns, 3000);
  const std::vector<FlowEvent> flows = imported.timeline.flows();
  ASSERT_EQ(flows.size(), 4U);
  EXPECT_EQ(flows[0].flow_id, 16U);
  EXPECT_EQ(flows[1].flow_id, 16U);
  EXPECT_EQ(flows[1].phase, FlowPhase::step);
  EXPECT_EQ(flows[2].flow_id, 16U);
  EXPECT_NE(flows[3].flow_id, 16U);
}

TEST(ChromeImport, TheObjectFormBringsItsFacts) {
  const Imported imported(R"({"displayTimeUnit":"ns","otherData":{"gpu":"none","n":{"a":1}},"more":[[]],
    "traceEvents":[{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}],"metadata":{"last":true}})");
  const auto& infos = imported.timeline.processes()[0].infos;
  const auto has = [&infos](const char* key, const char* value) {
    return std::find(infos.begin(), infos.end(), std::pair<std::string, std::string>(key, value)) != infos.end();
  };
  EXPECT_TRUE(has("gpu", "none"));
  EXPECT_TRUE(has("n.a", "1"));
  EXPECT_TRUE(has("last", "true"));
  EXPECT_TRUE(has("import.format", "chrome"));
  EXPECT_EQ(imported.spans().size(), 1U);
  EXPECT_EQ(imported.lost("member \"more\" of the trace, beside its events"), 1U);
}

TEST(ChromeImport, AnArrayNeedsNoEnd) {
  for (const char* const text : {R"([{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1})",
                                 R"([{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1},
)"}) {
    const Imported imported(text);
    EXPECT_EQ(imported.spans().size(), 1U);
    EXPECT_FALSE(imported.report.is_damaged());
  }
  EXPECT_EQ(Imported("[]").spans().size(), 0U);
}

}  // namespace
}  // namespace kymo::exchange
