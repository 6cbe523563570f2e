// What is left of hooked functions when their program is killed.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <kymo/timeline.hpp>

#include "support/child_process.hpp"
#include "support/spools.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

std::uint64_t scopes_of(const Timeline& timeline) {
  std::uint64_t scopes = 0;
  for (const TrackTotals& track : timeline.totals()) {
    scopes += track.recorded_scopes;
  }
  return scopes;
}

TEST(KilledHooks, FunctionsMetJustBeforeTheKillHaveTheirNamesAndModules) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "killed.kymo";
  test::ChildProcess program({KILLED_PROGRAM, path});
  ASSERT_EQ(program.wait(), -SIGKILL);
  const Timeline timeline({path});
  const Declarations& declared = timeline.declarations();
  for (const char* const name : {"hooked::outer", "hooked::middle", "hooked::leaf"}) {
    const auto site = std::find_if(declared.sites.begin(), declared.sites.end(),
                                   [&](const SiteDeclaration& declaration) { return declaration.name == name; });
    ASSERT_NE(site, declared.sites.end()) << name;
    EXPECT_EQ(site->kind, SiteKind::hooked);
    const auto module =
        std::find_if(declared.modules.begin(), declared.modules.end(),
                     [&](const ModuleDeclaration& declaration) { return declaration.id == site->module; });
    ASSERT_NE(module, declared.modules.end()) << name;
    EXPECT_EQ(module->path, HOOKED_LIBRARY);
    EXPECT_GT(module->load_base, 0U);
    EXPECT_LT(site->module_offset, module->size);
  }
  test::remove_spool_of(path);
}

TEST(HookedPrograms, RecordThemselvesWhereTheEnvironmentAsksForIt) {
  for (const char* const program : {WHOLE_PROGRAM_PLAIN, WHOLE_PROGRAM_WITH_KEYWORDS, WHOLE_PROGRAM_PATCHABLE}) {
    const test::TemporaryDirectory directory;
    const std::string path = directory / "whole.kymo";
    test::ChildProcess silent({program});
    ASSERT_EQ(silent.wait(), 0) << program;
    test::ChildProcess recorded({"/usr/bin/env", "KYMO_SAMPLE=0", "KYMO_RECORD=" + path, program});
    ASSERT_EQ(recorded.wait(), 0) << program;
    const Timeline timeline({path});
    const Declarations& declared = timeline.declarations();
    EXPECT_TRUE(std::any_of(declared.sites.begin(), declared.sites.end(), [](const SiteDeclaration& site) {
      return site.name == "collatz_steps";
    })) << program;
    EXPECT_EQ(scopes_of(timeline), 101U) << program << ": main and a hundred calls";
  }
}

TEST(HookedPrograms, RecordTheFunctionsThatTheEnvironmentChooses) {
  for (const char* const program : {WHOLE_PROGRAM_PLAIN, WHOLE_PROGRAM_PATCHABLE}) {
    for (const auto& [sites, scopes] : {std::pair("collatz*", 100U), std::pair("-collatz*", 1U)}) {
      const test::TemporaryDirectory directory;
      const std::string path = directory / "chosen.kymo";
      test::ChildProcess recorded(
          {"/usr/bin/env", "KYMO_SAMPLE=0", "KYMO_RECORD=" + path, std::string("KYMO_SITES=") + sites, program});
      ASSERT_EQ(recorded.wait(), 0) << program;
      EXPECT_EQ(scopes_of(Timeline({path})), scopes) << program << " " << sites;
    }
  }
}

/// The archive's code asks for the recording in the plugin's constructors: within dlopen, whose lock is held.
TEST(HookedPrograms, APluginWithAHookedArchiveStartsTheRecordingWhileItIsLoaded) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "plugin.kymo";
  test::ChildProcess host({"/usr/bin/env", "KYMO_RECORD=" + path, LONE_PLUGIN_HOST, LONE_PLUGIN});
  ASSERT_EQ(host.wait(), 0);
  const Timeline timeline({path});
  const std::vector<SiteDeclaration>& sites = timeline.declarations().sites;
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites.front().name, "lone_work");
  EXPECT_EQ(scopes_of(timeline), 1U);
}

}  // namespace
}  // namespace kymo
