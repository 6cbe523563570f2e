// Exports of whole captures through the public functions.
#include <kymo/exchange.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>

#include "capture/write/destination.hpp"
#include "exchange/tables/csv.hpp"
#include "exchange/tables/openmetrics.hpp"
#include "support/memory_destination.hpp"
#include "support/programs.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/recording_model.hpp"

namespace kymo {
namespace {

using protozero::pbf_reader;
using Export = void (*)(const Timeline&, const std::string&, const ExportOptions&);

constexpr std::array<Export, 7> exports{export_chrome_trace, export_perfetto_trace, export_collapsed_stacks,
                                        export_spans_csv,    export_frames_csv,     export_metrics_csv,
                                        export_openmetrics};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// A capture in memory, its timeline, and a place for exports.
class ExportTest : public ::testing::Test {
 protected:
  Timeline open(const std::vector<std::byte>& bytes) {
    bytes_ = bytes;
    std::vector<CaptureReader> captures;
    captures.emplace_back(bytes_.data(), bytes_.size(), "memory");
    return Timeline(std::move(captures));
  }
  Timeline open(const test::RecordingModel& model) { return open(model.write()); }

  static std::vector<std::byte> written(const EventBatch& batch) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 100, "here", "boot", "", "program"});
    capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(options));
    writer.write(batch);
    writer.finish();
    return *bytes;
  }

  std::string exported(const Timeline& timeline, Export write) {
    const std::string path = (directory_.path() / "exported").string();
    write(timeline, path, {});
    return test::read_file(path);
  }

  test::TemporaryDirectory directory_;

 private:
  std::vector<std::byte> bytes_;
};

/// What the check of a Perfetto trace's packets finds, told from the protobuf alone.
struct Slices {
  std::multiset<std::pair<std::int64_t, std::int64_t>> by_time;  ///< start and duration
  std::set<std::uint64_t> tracks;
};

/// Checks the packets one after the other: what they refer to has come before, and begins and ends are balanced.
class PacketCheck {
 public:
  Slices run(const std::string& trace) {
    for (pbf_reader packets(trace); packets.next();) {
      EXPECT_EQ(packets.tag(), 1U);
      take_packet(packets.get_message());
    }
    // Equal times keep their order.
    for (auto& [track, events] : events_) {
      std::stable_sort(events.begin(), events.end(),
                       [](const auto& left, const auto& right) { return left.first < right.first; });
      std::vector<std::int64_t> open;
      for (const auto& [time_ns, is_begin] : events) {
        if (is_begin) {
          open.push_back(time_ns);
        } else if (open.empty()) {
          ADD_FAILURE() << "an end without a begin on track " << track;
        } else {
          slices_.by_time.emplace(open.back(), time_ns - open.back());
          open.pop_back();
        }
      }
      EXPECT_TRUE(open.empty());
    }
    return slices_;
  }

 private:
  void take_packet(pbf_reader packet) {
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
    std::int64_t time_ns = -1;
    pbf_reader event;
    while (packet.next()) {
      switch (packet.tag()) {
        case 8:
          time_ns = packet.get_int64();
          break;
        case 10:
          sequence = packet.get_uint32();
          break;
        case 13:
          flags = packet.get_uint32();
          break;
        case 11:
          event = packet.get_message();
          break;
        case 12:
          take_interned(packet.get_message());
          break;
        case 60:
          take_descriptor(packet.get_message());
          break;
        default:
          packet.skip();
      }
    }
    EXPECT_NE(sequence, 0U);
    if (sequences_.insert(sequence).second) {
      EXPECT_EQ(flags & 1U, 1U) << "the first packet of a sequence clears its state";
    }
    if (event.data().size() != 0) {
      EXPECT_EQ(flags, 2U);
      EXPECT_GE(time_ns, 0);
      take_event(event, time_ns);
    }
  }

  void take_interned(pbf_reader data) {
    while (data.next()) {
      const std::uint32_t kind = data.tag();
      pbf_reader entry = data.get_message();
      EXPECT_TRUE(entry.next(1));
      EXPECT_TRUE(interned_.insert({kind, entry.get_uint64()}).second) << "interned twice";
    }
  }

  void take_descriptor(pbf_reader descriptor) {
    std::uint64_t uuid = 0;
    while (descriptor.next()) {
      if (descriptor.tag() == 1) {
        uuid = descriptor.get_uint64();
      } else if (descriptor.tag() == 5) {
        EXPECT_EQ(described_.count(descriptor.get_uint64()), 1U) << "a parent comes first";
      } else {
        descriptor.skip();
      }
    }
    EXPECT_NE(uuid, 0U);
    described_.insert(uuid);
  }

  void take_event(pbf_reader event, std::int64_t time_ns) {
    std::uint64_t track = 0;
    std::int32_t type = 0;
    while (event.next()) {
      switch (event.tag()) {
        case 3:
          EXPECT_EQ(interned_.count({1, event.get_uint64()}), 1U);
          break;
        case 10:
          EXPECT_EQ(interned_.count({2, event.get_uint64()}), 1U);
          break;
        case 4: {
          pbf_reader annotation = event.get_message();
          if (annotation.next(1)) {
            EXPECT_EQ(interned_.count({3, annotation.get_uint64()}), 1U);
          }
          break;
        }
        case 9:
          type = event.get_enum();
          break;
        case 11:
          track = event.get_uint64();
          break;
        default:
          event.skip();
      }
    }
    EXPECT_EQ(described_.count(track), 1U);
    slices_.tracks.insert(track);
    if (type == 1 || type == 2) {
      events_[track].emplace_back(time_ns, type == 1);
    }
  }

  std::set<std::uint32_t> sequences_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> interned_;
  std::set<std::uint64_t> described_;
  std::map<std::uint64_t, std::vector<std::pair<std::int64_t, bool>>> events_;
  Slices slices_;
};

TEST_F(ExportTest, PerfettoPacketsReferToWhatCameBeforeAndTheirSlicesAreWhatHappened) {
  const test::RecordingModel model({});
  const Slices slices = PacketCheck().run(exported(open(model), export_perfetto_trace));
  Slices true_slices;
  for (const test::TrueSpan& span : model.truth().spans) {
    true_slices.by_time.emplace(span.start_ns, span.end_ns - span.start_ns);
  }
  const auto& marks = model.truth().frame_marks;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    true_slices.by_time.emplace(marks[i], marks[i + 1] - marks[i]);
  }
  EXPECT_EQ(slices.by_time, true_slices.by_time);
  EXPECT_GT(slices.tracks.size(), 5U);
}

TEST_F(ExportTest, CollapsedStacksAddUpToTheSelfTimesOfWhatHappened) {
  const test::RecordingModel model({});
  const std::string text = exported(open(model), export_collapsed_stacks);
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_GT(lines.size(), 20U);
  std::map<std::string, std::int64_t> self_ns;
  std::set<std::string> stacks;
  for (const std::string& line : lines) {
    const std::string stack = line.substr(0, line.rfind(' '));
    EXPECT_TRUE(stacks.insert(stack).second);
    self_ns[stack.substr(0, stack.find(';')) + stack.substr(stack.rfind(';'))] +=
        std::stoll(line.substr(line.rfind(' ') + 1));
  }
  std::map<std::string, std::int64_t> true_self_ns;
  for (const test::TrueSpan& span : model.truth().spans) {
    if (span.track.find("thread") == 0 && span.self_ns > 0) {
      true_self_ns[span.track + ';' + span.name] += span.self_ns;
    }
  }
  EXPECT_EQ(self_ns, true_self_ns);
}

TEST_F(ExportTest, TablesHaveARowForEverythingThatHappened) {
  const test::RecordingModel model({});
  const Timeline timeline = open(model);
  const test::TrueRecording& truth = model.truth();
  EXPECT_EQ(lines_of(exported(timeline, export_spans_csv)).size(), truth.spans.size() + 1);
  EXPECT_EQ(lines_of(exported(timeline, export_frames_csv)).size(), truth.frame_marks.size());
  EXPECT_EQ(lines_of(exported(timeline, export_metrics_csv)).size(), truth.samples.size() + 1);
  const auto [time_ns, value] = truth.samples.front();
  std::ostringstream first;
  first << "100,load,,1," << time_ns << ',' << value << ",0";
  EXPECT_EQ(lines_of(exported(timeline, export_metrics_csv)).at(1), first.str());
}

TEST_F(ExportTest, SpansTellWhereTheyAreInTheCodeAndWhomTheyWaitedFor) {
  EventBatch batch;
  batch.end_ns = 3000;
  SiteDeclaration work;
  work.id = SiteId{1};
  work.name = "cull";
  work.function = "void cull(int, float)";
  work.file = "src/a.cpp";
  work.line = 12;
  SiteDeclaration wait;
  wait.id = SiteId{2};
  wait.name = "wait for queue";
  wait.function = "loader";
  wait.role = SiteRole::wait;
  batch.declarations.sites = {work, wait};
  batch.declarations.names = {{NameId{1}, "copy"}};
  batch.declarations.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 5, "main"},
                               {TrackId{2}, TrackKind::queue, ProcessId{1}, 0, "gpu"}};
  ScopeRun run;
  run.track = TrackId{1};
  run.end_sequence = 4;
  run.events = {{1000, SiteId{1}, 0, 0}, {1100, SiteId{2}, 1, 0}, {1200, {}, 1, 0}, {2000, {}, 0, 0}};
  batch.runs = {run};
  SpanEvent span;
  span.track = TrackId{2};
  span.name = NameId{1};
  span.start_ns = 1000;
  span.duration_ns = 500;
  batch.spans = {span};
  EXPECT_EQ(exported(open(written(batch)), export_spans_csv),
            "process,track,kind,name,category,start_ns,duration_ns,self_ns,depth,async_id,marks,arguments,"
            "function,file,line,holder\n"
            "100,main,thread,wait for queue,,1100,100,100,1,,,,,,,loader\n"
            "100,main,thread,cull,,1000,1000,900,0,,,,\"void cull(int, float)\",src/a.cpp,12,\n"
            "100,gpu,queue,copy,,1000,500,500,0,,,,,,,\n");
}

TEST_F(ExportTest, FieldsAreQuotedOnlyWhereTheyMustBe) {
  const auto field = [](std::string_view text) {
    std::string out;
    exchange::append_csv_field(out, text);
    return out;
  };
  EXPECT_EQ(field("plain; text"), "plain; text");
  EXPECT_EQ(field("a,b"), "\"a,b\"");
  EXPECT_EQ(field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(field("\xFF"), "\xEF\xBF\xBD");
}

TEST_F(ExportTest, OpenMetricsHasTheLatestValuesUnderNamesThatItAllows) {
  EventBatch batch;
  batch.end_ns = 3000;
  batch.declarations.metrics = {
      {MetricId{1}, MetricKind::gauge, ProcessId{1}, "board power", "W", "", {{"rail", "a\"b\\\n"}}},
      {MetricId{2}, MetricKind::gauge, ProcessId{1}, "board power", "W", "", {{"rail", "c"}}},
      {MetricId{3}, MetricKind::counter, ProcessId{1}, "reads_total", "", "", {}},
      {MetricId{4}, MetricKind::gauge, ProcessId{1}, "reads", "", "", {}},
      {MetricId{5}, MetricKind::gauge, ProcessId{1}, "disk", "B/s", "", {}},
      {MetricId{6}, MetricKind::gauge, ProcessId{1}, "gone", "", "", {}},
      {MetricId{7}, MetricKind::gauge, ProcessId{1}, "reads_total", "", "", {{"quantile", "1"}}},
  };
  batch.samples = {{MetricId{1}, {1000, 2000}, {1, 0.1}, {}},
                   {MetricId{2}, {1500}, {-3}, {}},
                   {MetricId{3}, {1000}, {7}, {}},
                   {MetricId{4}, {1000}, {std::numeric_limits<double>::infinity()}, {}},
                   {MetricId{5}, {1000}, {2.5}, {}},
                   {MetricId{6}, {1000, 2000}, {1, std::nan("")}, {}},
                   {MetricId{7}, {1000}, {1}, {}}};
  batch.clock_anchors = {{0, 1'700'000'000'000'000'000, 1}};
  EXPECT_EQ(exported(open(written(batch)), export_openmetrics),
            "# TYPE board_power_watts gauge\n"
            "# UNIT board_power_watts watts\n"
            "board_power_watts{rail=\"a\\\"b\\\\\\n\"} 0.1 1700000000.000002\n"
            "board_power_watts{rail=\"c\"} -3 1700000000.0000015\n"
            "# TYPE disk_bytes_per_second gauge\n"
            "# UNIT disk_bytes_per_second bytes_per_second\n"
            "disk_bytes_per_second 2.5 1700000000.000001\n"
            "# TYPE reads counter\n"
            "reads_total 7 1700000000.000001\n"
            "# TYPE reads_2 gauge\n"
            "reads_2 +Inf 1700000000.000001\n"
            // The counter's line has the name.
            "# TYPE reads_total_2 gauge\n"
            "reads_total_2{quantile_2=\"1\"} 1 1700000000.000001\n"
            "# EOF\n");
}

TEST_F(ExportTest, FullDisksAndClosedPipesAreErrorsAndLeaveNothingBehind) {
  const Timeline timeline = open(test::RecordingModel({}));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  const std::string closed_pipe = "/dev/fd/" + std::to_string(ends[1]);
  for (const Export write : exports) {
    EXPECT_THROW(write(timeline, "/dev/full", {}), ExchangeError);
    EXPECT_THROW(write(timeline, closed_pipe, {}), ExchangeError);
    EXPECT_THROW(write(timeline, (directory_.path() / "none" / "file").string(), {}), ExchangeError);
  }
  ::close(ends[1]);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(ExportTest, TablesAreFilesOfArrowAndParquet) {
  const Timeline timeline = open(test::RecordingModel({}));
  const std::string path = (directory_.path() / "table").string();
  const auto text = [&path] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (int table = 0; table <= static_cast<int>(ArrowTable::processes); ++table) {
    double share = 0;
    const ExportOptions options{[&share](double done) { share = done; }};
    export_arrow(timeline, path, static_cast<ArrowTable>(table), options);
    EXPECT_EQ(share, 1);
    const std::string arrow = text();
    EXPECT_EQ(arrow.substr(0, 6), "ARROW1");
    EXPECT_EQ(arrow.substr(arrow.size() - 6), "ARROW1");
    share = 0;
    export_parquet(timeline, path, static_cast<ArrowTable>(table), options);
    EXPECT_EQ(share, 1);
    const std::string parquet = text();
    EXPECT_EQ(parquet.substr(0, 4), "PAR1");
    EXPECT_EQ(parquet.substr(parquet.size() - 4), "PAR1");
  }
  EXPECT_THROW(export_arrow(timeline, "/dev/full", ArrowTable::spans), ExchangeError);
  EXPECT_THROW(export_parquet(timeline, "/dev/full", ArrowTable::spans), ExchangeError);
}

TEST_F(ExportTest, TellsHowFarItIs) {
  const Timeline timeline = open(test::RecordingModel({}));
  for (const Export write : exports) {
    std::vector<double> shares;
    write(timeline, (directory_.path() / "exported").string(), {[&shares](double share) { shares.push_back(share); }});
    ASSERT_FALSE(shares.empty());
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_GE(shares.front(), 0);
    EXPECT_EQ(shares.back(), 1);
    // Frames are told of stream by stream.
    EXPECT_TRUE(shares.size() > 3 || write == export_frames_csv) << shares.size();
  }
}

TEST_F(ExportTest, ACaptureWithNothingInItIsExported) {
  const test::RecordingModel nothing([] {
    test::ModelOptions options;
    options.steps = 0;
    return options;
  }());
  const Timeline timeline = open(nothing);
  EXPECT_TRUE(PacketCheck().run(exported(timeline, export_perfetto_trace)).by_time.empty());
  EXPECT_EQ(exported(timeline, export_collapsed_stacks), "");
  EXPECT_EQ(exported(timeline, export_frames_csv), "process,stream,number,start_ns,duration_ns\n");
  EXPECT_EQ(exported(timeline, export_openmetrics), "# EOF\n");
}

}  // namespace
}  // namespace kymo
