// A program whose slow frames have one chosen cause, for real: explain_programs.py records it and asks `kymo explain`.
//
//     explain_program CAUSE STRENGTH_MS SEED [real-time]    STRENGTH_MS 0: the same program without the cause
//
// Prints, for each frame, in nanoseconds: what the cause added, as measured; what the program planned to compute beside
// it; how long the frame took by the program's own clock; and the CPU time of its thread, by the kernel's.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "explain_program_parts.hpp"

namespace {

using namespace explained;

constexpr int frame_count = 120;
/// Before the first frame: threads start, and code and memory are used for the first time.
constexpr int warm_up_count = 5;

struct Frame {
  Nanoseconds added = 0;
  Nanoseconds planned = 0;
  Nanoseconds took = 0;
  Nanoseconds cpu = 0;
};

/// A clock stays low for a while. Other causes come now and then.
bool is_slow_frame(const std::string& cause, int frame, std::mt19937_64& random) {
  const bool is_drawn = random() % 20 == 0;
  return cause == "thermal throttle" ? frame / 8 % 5 == 4 : frame % 17 == 11 || is_drawn;
}

std::vector<Frame> run(const std::string& cause, const Body& body, Nanoseconds strength, unsigned long long seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(1, 0.03);
  std::vector<Frame> frames;
  for (int frame = -warm_up_count; frame < frame_count; ++frame) {
    if (frame == 0) {
      kymo::frame_mark();
    }
    const bool is_slow = frame >= 0 && strength != 0 && is_slow_frame(cause, frame, random);
    Frame one;
    const Nanoseconds start = now();
    const Nanoseconds cpu_start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    one.planned = static_cast<Nanoseconds>(2e6 * normal(random));
    {
      KYMO_SCOPE("update");
      compute(one.planned);
    }
    one.added = body(is_slow ? static_cast<Nanoseconds>(static_cast<double>(strength) * normal(random)) : 0);
    one.took = now() - start;
    one.cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
    if (frame >= 0) {
      frames.push_back(one);
      kymo::frame_mark();
    }
  }
  return frames;
}

}  // namespace

int main(int count, char** arguments) {
  std::map<std::string, Make> causes = own_causes();
  causes.insert(causes_of_others().begin(), causes_of_others().end());
  if (count < 4 || causes.count(arguments[1]) == 0) {
    std::fprintf(stderr, "explain_program CAUSE STRENGTH_MS SEED [real-time], with a CAUSE of:\n");
    for (const auto& [name, make] : causes) {
      std::fprintf(stderr, "  %s\n", name.c_str());
    }
    return 2;
  }
  kymo::enable();
  kymo::set_thread_name("main");
  if (count > 4) {
    // From here on, so that kymo's own threads stay behind the program's.
    sched_param parameter{};
    parameter.sched_priority = 10;
    if (::sched_setscheduler(0, SCHED_FIFO, &parameter) != 0) {
      std::perror("sched_setscheduler");
      return 1;
    }
  }
  const auto strength = static_cast<Nanoseconds>(std::atof(arguments[2]) * static_cast<double>(ms));
  const Body body = causes.at(arguments[1])();
  for (const Frame& one : run(arguments[1], body, strength, std::strtoull(arguments[3], nullptr, 10))) {
    std::printf("%lld %lld %lld %lld\n", static_cast<long long>(one.added), static_cast<long long>(one.planned),
                static_cast<long long>(one.took), static_cast<long long>(one.cpu));
  }
}
