// Records itself as KYMO_RECORD says, and checks that the capture holds samples of the process's memory.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <kymo/kymo.hpp>
#include <kymo/timeline.hpp>

namespace {

/// How many samples of a metric the capture holds by now.
std::size_t count_samples(const std::string& path, const std::string& metric) {
  kymo::flush();
  const kymo::Timeline timeline(path);
  std::size_t count = 0;
  for (const kymo::MetricDeclaration& declared : timeline.declarations().metrics) {
    count += declared.name == metric ? timeline.series(declared.id).values.size() : 0;
  }
  return count;
}

}  // namespace

int main(int, char** arguments) {
  ::setenv("KYMO_RECORD", arguments[1], 1);
  if (!kymo::enable()) {
    return 1;
  }
  const std::string path(kymo::capture_path());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (count_samples(path, "process_rss") < 3) {
    if (std::chrono::steady_clock::now() > deadline) {
      std::fprintf(stderr, "the process was not sampled\n");
      return 1;
    }
    std::this_thread::yield();
  }
  kymo::disable();
  return 0;
}
