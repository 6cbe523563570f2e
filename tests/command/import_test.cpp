// Chrome traces through the command.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "command_fixture.hpp"

namespace kymo::test {
namespace {

using ImportCommand = CommandTest;

TEST_F(ImportCommand, AChromeTraceIsKnownByItsContentAndNamesItsCapture) {
  std::ofstream(file_named("run.trace")) << "\n [{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1},\n"
                                            "{\"name\":\"a\",\"ph\":\"i\",\"ts\":1},";
  const CommandResult imported = kymo({"import", "run.trace"});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(imported.out, "run.trace: in run.kymo now: 1 span, 1 message\n");
  EXPECT_EQ(imported.err, "");
  EXPECT_EQ(kymo({"stats", "run.kymo"}).status, 0);
}

TEST_F(ImportCommand, WhatIsLeftOutIsSaidAndTheStatusTells) {
  std::ofstream(file_named("run.json")) << R"({"stackFrames":{},"traceEvents":[{"ph":"?"},{"name":"a)";
  CommandResult result = kymo({"import", "-o", "out.kymo", "run.json"});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(
      result.err,
      "warning: run.json: events of unknown phase \"?\": 1\n"
      "note: run.json: member \"stackFrames\" of the trace, beside its events: 1\n"
      "warning: run.json: read up to byte 54: a string has no end, and the text ends here; nothing after that was "
      "imported\n");
  EXPECT_EQ(result.out, "run.json: in out.kymo now: no events\n");
  std::ofstream(file_named("no.json")) << "{]";
  result = kymo({"import", "no.json"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "kymo: no.json: no Chrome trace: byte 1: a member's name is missing\n");
  EXPECT_FALSE(std::filesystem::exists(file_named("no.kymo")));
  std::ofstream(file_named("packed.json.gz")) << "\x1F\x8B\x08";
  EXPECT_NE(kymo({"import", "packed.json.gz"}).err.find("the compressed data ends too early"), std::string::npos);
}

TEST_F(ImportCommand, JsonWithoutEventsIsNoTrace) {
  for (const std::string text :
       {"{}", R"({"a":1})", R"({"traceEvents":{}})", R"({"displayTimeUnit":"ms","otherData":{"a":"b"}})"}) {
    std::ofstream(file_named("run.json")) << text;
    const CommandResult result = kymo({"import", "run.json"});
    EXPECT_EQ(result.status, 1) << text << result.out;
    EXPECT_NE(result.err.find("kymo: run.json: no Chrome trace: byte "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("an object without an array of traceEvents is no trace"), std::string::npos)
        << result.err;
    EXPECT_FALSE(std::filesystem::exists(file_named("run.kymo"))) << text;
  }
  for (const std::string text : {"[]", R"({"traceEvents":[]})", R"({"traceEvents":[],"a":1})"}) {
    std::ofstream(file_named("run.json")) << text;
    EXPECT_EQ(kymo({"import", "run.json"}).status, 0) << text;
  }
}

TEST_F(ImportCommand, WhatCannotBeReadIsSaidWithTheReason) {
  std::filesystem::create_directory(file_named("folder"));
  for (const std::string format : {"auto", "chrome", "perfetto", "nvmt", "vor"}) {
    const CommandResult folder = kymo({"import", "--from", format, "folder"});
    EXPECT_EQ(folder.status, 1) << format;
    EXPECT_EQ(folder.err, "kymo: folder: is a directory; name a recording in it\n") << format;
    const CommandResult missing = kymo({"import", "--from", format, "missing.json"});
    EXPECT_EQ(missing.status, 1) << format;
    EXPECT_NE(missing.err.find("missing.json"), std::string::npos) << missing.err;
    EXPECT_NE(missing.err.find(": No such file or directory\n"), std::string::npos) << format << missing.err;
  }
}

}  // namespace
}  // namespace kymo::test
