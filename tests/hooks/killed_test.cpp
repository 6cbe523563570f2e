// What is left of hooked functions when their program is killed.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kymo/timeline.hpp>

#include "support/child_process.hpp"
#include "support/spools.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

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
  for (const char* const program : {WHOLE_PROGRAM_PLAIN, WHOLE_PROGRAM_WITH_KEYWORDS}) {
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
    std::uint64_t scopes = 0;
    for (const TrackTotals& track : timeline.totals()) {
      scopes += track.recorded_scopes;
    }
    EXPECT_EQ(scopes, 101U) << program << ": main and a hundred calls";
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
  std::uint64_t scopes = 0;
  for (const TrackTotals& track : timeline.totals()) {
    scopes += track.recorded_scopes;
  }
  EXPECT_EQ(scopes, 1U);
}

}  // namespace
}  // namespace kymo
