// Records one scope into the capture named on the command line and reads it back; with EXPECT_HOOKED a hooked function
// too.
#include <cstdio>
#include <string>

#include <kymo/capture.hpp>
#include <kymo/kymo.hpp>

namespace {

void work() {
  KYMO_SCOPE("consumed", {"count", 3});
}

}  // namespace

__attribute__((noinline)) void hooked_work();
void hooked_work() {
  work();
}

namespace {

int count_scopes(const kymo::CaptureReader& capture, const std::string& name) {
  kymo::SiteId wanted;
  for (const kymo::SiteDeclaration& site : capture.declarations().sites) {
    if (site.name == name) {
      wanted = site.id;
    }
  }
  int count = 0;
  kymo::EventBatch batch;
  for (const kymo::BlockInfo& block : capture.blocks()) {
    if (block.kind != kymo::BlockKind::events || !capture.read(block, batch)) {
      continue;
    }
    for (const kymo::ScopeRun& run : batch.runs) {
      for (const kymo::ScopeEvent& event : run.events) {
        count += event.is_open() && event.site == wanted ? 1 : 0;
      }
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_and_read CAPTURE\n");
    return 2;
  }
  kymo::CaptureOptions options;
  options.path = argv[1];
  if (!kymo::start_capture(options)) {
    return 1;
  }
  const std::string path(kymo::capture_path());
  hooked_work();
  if (!kymo::stop_capture()) {
    return 1;
  }
  const kymo::CaptureReader capture(path);
  const int consumed = count_scopes(capture, "consumed");
  const int hooked = count_scopes(capture, "hooked_work");
  std::printf("%s holds %d scope and %d hooked function\n", path.c_str(), consumed, hooked);
#ifdef EXPECT_HOOKED
  constexpr int expected_hooked = 1;
#else
  constexpr int expected_hooked = 0;
#endif
  return consumed == 1 && hooked == expected_hooked ? 0 : 1;
}
