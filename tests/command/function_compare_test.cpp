// kymo compare --functions: verdicts on captures whose samples are known.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "capture/write/capture_writer.hpp"
#include "command_fixture.hpp"

namespace kymo::test {
namespace {

class FunctionCompareTest : public CommandTest {
 protected:
  /// Writes a capture of some 2,000 samples in main;shop::weigh, and for each 30 of those so many in main;shop::count.
  std::string write(const std::string& name, unsigned counted, std::uint32_t seed) const {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 1, "here", "boot", "", "program"});
    options.declarations.threads.push_back({ThreadId{1}, ProcessId{1}, 1, 1, "program"});
    options.declarations.infos.push_back({ProcessId{1}, "stacks.hz", "1000"});
    EventBatch batch;
    ModuleDeclaration module;
    module.id = ModuleId{1};
    module.path = "/usr/bin/program";
    batch.declarations.modules.push_back(module);
    batch.declarations.functions = {{FunctionId{1}, ModuleId{1}, 16, "main"},
                                    {FunctionId{2}, ModuleId{1}, 32, "shop::weigh"},
                                    {FunctionId{3}, ModuleId{1}, 48, "shop::count"}};
    batch.declarations.stacks = {{StackId{1}, StackId{}, FunctionId{1}},
                                 {StackId{2}, StackId{1}, FunctionId{2}},
                                 {StackId{3}, StackId{1}, FunctionId{3}}};
    std::mt19937 random(seed);
    for (unsigned i = 0; i < 67 * (30 + counted); ++i) {
      const StackId stack{random() % (30 + counted) < 30 ? 2U : 3U};
      batch.end_ns += 1'000'000;
      batch.stack_samples.push_back({ThreadId{1}, stack, 0, batch.end_ns});
    }
    const std::string path = file_named(name + ".kymo");
    capture::CaptureWriter writer(path, std::move(options));
    writer.write(batch);
    writer.finish();
    return path;
  }
};

TEST_F(FunctionCompareTest, FindsTheFunctionThatGotSlowerAndNoOther) {
  std::vector<std::string> words{"compare", "--functions", "--json", "--base"};
  for (std::uint32_t run = 1; run <= 4; ++run) {
    words.push_back(write("base" + std::to_string(run), 10, run));
  }
  words.emplace_back("--new");
  for (std::uint32_t run = 1; run <= 4; ++run) {
    words.push_back(write("new" + std::to_string(run), 30, 10 + run));
  }
  const CommandResult result = kymo(words);
  ASSERT_EQ(result.status, 0) << result.err;
  std::map<std::string, nlohmann::json> things;
  const nlohmann::json all = nlohmann::json::parse(result.out);
  for (const auto& thing : all["compared"]) {
    EXPECT_EQ(thing["kind"], "function");
    things[thing["name"]] = thing;
  }
  EXPECT_EQ(things.at("shop::count")["verdict"], "worse") << result.out;
  EXPECT_NEAR(things.at("shop::count")["median_change"].get<double>(), 2, 0.3);
  const std::string weighed = things.at("shop::weigh")["verdict"];
  EXPECT_TRUE(weighed == "same" || weighed == "unclear") << result.out;
}

TEST_F(FunctionCompareTest, ThePageShowsWhoseShareGrew) {
  ASSERT_EQ(kymo({"compare", "--functions", "--html", "page.html", write("base", 10, 1), write("new", 30, 2)}).status,
            0);
  const std::string page = read_text(file_named("page.html"));
  EXPECT_NE(page.find("<title>shop::count: "), std::string::npos) << page;
  EXPECT_NE(page.find("<rect class=\"more"), std::string::npos);
}

TEST_F(FunctionCompareTest, ACaptureWithoutStacksIsNamed) {
  const std::string run = write("run", 10, 1);
  ASSERT_EQ(kymo({"record", "--hz", "0", "-q", "-o", "none.kymo", "--", "/bin/true"}).status, 0);
  const CommandResult none = kymo({"compare", "--functions", run, "none.kymo"});
  EXPECT_NE(none.err.find("none.kymo: no stacks were recorded"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace kymo::test
