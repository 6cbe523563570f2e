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

}  // namespace
}  // namespace kymo::test
