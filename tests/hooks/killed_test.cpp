// What is left of hooked functions when their program is killed.
#include <algorithm>
#include <csignal>
#include <string>

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

}  // namespace
}  // namespace kymo
