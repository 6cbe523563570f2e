// Traces of torch.profiler as captures: what GPUs did is on tracks of their queues.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>

#include "import_fixture.hpp"

namespace kymo {
namespace {

using test::Imported;
using Texts = std::vector<std::string>;

// One launch, two streams of one GPU and one of another; an annotation that overlaps its kernels, as they do.
constexpr const char* trace = R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A"}],"displayTimeUnit":"ms",
  "distributedInfo":{"backend":"nccl","rank":3,"world_size":8},"baseTimeNanoseconds":1700000000000000000,
  "traceEvents":[
  {"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}},
  {"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
  {"ph":"M","name":"process_labels","pid":1,"tid":0,"args":{"labels":"GPU 1"}},
  {"ph":"M","name":"process_labels","pid":2,"tid":0,"args":{"labels":"GPU 2"}},
  {"ph":"M","name":"process_name","pid":99,"tid":0,"args":{"name":"python"}},
  {"ph":"M","name":"process_labels","pid":99,"tid":0,"args":{"labels":"CPU"}},
  {"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7 "}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":10,"args":{"device":0,"stream":7,"correlation":5}},
  {"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":5,"pid":0,"tid":7,"ts":30},
  {"ph":"X","cat":"gpu_user_annotation","name":"forward","pid":0,"tid":7,"ts":29,"dur":6},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":20,"ts":31,"dur":2,"args":{"stream":20,"bytes":64}},
  {"ph":"X","cat":"gpu_memset","name":"Memset","pid":1,"tid":7,"ts":1,"dur":1,"args":{"stream":7}},
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":99,"tid":99,"ts":10,"dur":9},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":99,"tid":99,"ts":12,"dur":3,"args":{"correlation":5}},
  {"ph":"s","cat":"ac2g","name":"ac2g","id":5,"pid":99,"tid":99,"ts":12},
  {"ph":"X","cat":"kernel","name":"no stream","pid":99,"tid":98,"ts":1,"dur":1}]})";

TEST(ChromeImport, WorkOfGpusIsOnTracksOfTheirQueues) {
  const Imported imported(trace);
  EXPECT_FALSE(imported.report.is_damaged());
  EXPECT_EQ(imported.report.spans, 7U);
  Texts spans = imported.spans();
  std::sort(spans.begin(), spans.end());
  EXPECT_EQ(spans,
            (Texts{" 1000+1000 no stream (category=\"kernel\")", " 10000+9000 aten::mm (category=\"cpu_op\")",
                   " 12000+3000 cudaLaunchKernel (category=\"cuda_runtime\", correlation=5)",
                   "GPU 0 stream 20 31000+2000 Memcpy HtoD (stream=20, bytes=64)", "GPU 0 stream 7 29000+6000 forward",
                   "GPU 0 stream 7 30000+10000 gemm (device=0, stream=7, correlation=5)",
                   "GPU 1 stream 7 1000+1000 Memset (stream=7)"}));
  for (const TrackDeclaration& track : imported.timeline.tracks()) {
    const bool is_gpu = track.name.compare(0, 3, "GPU") == 0;
    EXPECT_EQ(track.kind, is_gpu ? TrackKind::queue : TrackKind::thread) << track.name;
    if (is_gpu) {
      const Span span = imported.timeline.spans(track.id).spans.back();
      EXPECT_NE(imported.timeline.name(span.category), "");
    }
  }
}

TEST(ChromeImport, FlowsLeadFromTheLaunchToTheQueue) {
  const Imported imported(trace);
  const std::vector<FlowEvent> flows = imported.timeline.flows();
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].flow_id, flows[1].flow_id);
  EXPECT_EQ(imported.timeline.track(flows[0].track).os_thread_id, 99U);
  EXPECT_EQ(imported.timeline.track(flows[1].track).name, "GPU 0 stream 7");
}

TEST(ChromeImport, GpusAreThoseOfTheProcessThatUsedThemWhereThereIsOne) {
  const Imported imported(trace);
  ASSERT_EQ(imported.timeline.processes().size(), 1U);
  const auto& process = imported.timeline.processes()[0];
  EXPECT_EQ(process.declaration.pid, 99U);
  EXPECT_EQ(process.declaration.rank, "3");
  for (const TrackDeclaration& track : imported.timeline.tracks()) {
    EXPECT_EQ(track.process, process.declaration.id);
  }
  const auto has = [&process](const char* key, const char* value) {
    return std::find(process.infos.begin(), process.infos.end(), std::pair<std::string, std::string>(key, value)) !=
           process.infos.end();
  };
  EXPECT_TRUE(has("distributedInfo.world_size", "8"));
  EXPECT_TRUE(has("import.format", "chrome"));

  // Two programs in one trace: nobody knows whose the GPU is.
  const Imported several(R"([{"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}},
    {"ph":"M","name":"process_labels","pid":8,"args":{"labels":"CPU"}},
    {"ph":"M","name":"process_labels","pid":9,"args":{"labels":"CPU"}},
    {"ph":"X","cat":"gpu_memset","name":"m","pid":0,"tid":7,"ts":1,"dur":1},
    {"ph":"X","cat":"gpu_memset","name":"m","pid":3,"tid":7,"ts":1,"dur":1},
    {"ph":"B","name":"b","pid":3,"tid":8,"ts":1},{"ph":"E","pid":3,"tid":8,"ts":4},
    {"ph":"X","cat":"gpu_memset","name":"m","pid":3,"tid":8,"ts":2,"dur":1}])");
  EXPECT_EQ(several.timeline.processes().size(), 4U);
  EXPECT_EQ(several.spans(), (Texts{"GPU 0 stream 7 1000+1000 m", "GPU 3 stream 7 1000+1000 m", " 1000+3000 b",
                                    " 2000+1000 m (category=\"gpu_memset\")"}));
}

TEST(ChromeImport, TheWallClockOfATraceAlignsItsCapture) {
  const Imported imported(trace);
  const CaptureReader reader(imported.report.output);
  std::vector<ClockAnchor> anchors;
  for (const BlockInfo& block : reader.blocks()) {
    EventBatch batch;
    if (block.kind == BlockKind::events && reader.read(block, batch)) {
      anchors.insert(anchors.end(), batch.clock_anchors.begin(), batch.clock_anchors.end());
    }
  }
  ASSERT_EQ(anchors.size(), 1U);
  EXPECT_EQ(anchors[0].realtime_ns - anchors[0].monotonic_ns, 1'700'000'000'000'000'000);
  for (const char* const base : {"-5", "4611686018427387904", "1.5", "\"x\"", "[1]"}) {
    const Imported odd(R"({"baseTimeNanoseconds":)" + std::string(base) +
                       R"(,"traceEvents":[{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}]})");
    EXPECT_EQ(odd.spans().size(), 1U);
    EXPECT_EQ(odd.report.is_damaged(), base != std::string("-5")) << base;
  }
}

TEST(ChromeImport, ATraceMayBeCalledSomethingElseThanItsPath) {
  ImportOptions options;
  options.name = "run.json.gz";
  const Imported imported("[]", options);
  const auto& infos = imported.timeline.processes()[0].infos;
  const std::pair<std::string, std::string> expected("import.file", "run.json.gz");
  EXPECT_NE(std::find(infos.begin(), infos.end(), expected), infos.end());
  try {
    const Imported broken("nothing", options);
    ADD_FAILURE();
  } catch (const ImportError& error) {
    EXPECT_EQ(std::string(error.what()).compare(0, 12, "run.json.gz:"), 0) << error.what();
  }
}

// Written by older versions, and from nsys.
TEST(ChromeImport, CapitalCategoriesAreWorkOfGpusToo) {
  const Imported imported(R"([
    {"ph":"X","cat":"Kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":10,"args":{"stream":7}},
    {"ph":"X","cat":"Memcpy","name":"copy","pid":0,"tid":7,"ts":35,"dur":10,"args":{"stream":7}},
    {"ph":"X","cat":"Memset","name":"set","pid":0,"tid":7,"ts":50,"dur":1}])");
  EXPECT_EQ(imported.spans(), (Texts{"GPU 0 stream 7 30000+10000 gemm (stream=7)",
                                     "GPU 0 stream 7 35000+10000 copy (stream=7)", "GPU 0 stream 7 50000+1000 set"}));
  EXPECT_EQ(imported.timeline.tracks()[0].kind, TrackKind::queue);
}

}  // namespace
}  // namespace kymo
