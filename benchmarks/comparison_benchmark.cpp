// How often `kymo compare` finds slowdowns, raises false alarms, and gives intervals that hold the truth: simulated
// programs whose differences are known. Prints the tables of docs/comparing.md and what a comparison takes.
//
//     comparison_benchmark [COMPARISONS]    comparisons a cell (500: some 10 minutes of CPU), a fifth with many sites
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "stats/simulated_runs.hpp"

namespace {

using kymo::test::SimulatedComparisons;
using kymo::test::SimulatedProgram;

constexpr std::size_t rotations = 1000;

int comparisons = 500;

SimulatedComparisons simulate(const SimulatedProgram& program, std::size_t base_runs, std::size_t new_runs) {
  const int count = program.sites > 100 ? comparisons / 5 : comparisons;
  return kymo::test::simulate_comparisons(program, base_runs, new_runs, count, rotations);
}

double percent(double share) {
  return 100 * share;
}

/// Ten sites, one of which slows down. By run, the alarms are about programs; verdicts "here" of one run are told
/// apart.
void print_power() {
  std::printf(
      "| runs a side | run noise | 5 %% slower found | 10 %% slower found | false alarms | intervals hold the truth |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  for (const std::size_t runs : {1U, 2U, 3U, 5U, 10U}) {
    for (const double noise : {0.01, 0.02, 0.05}) {
      SimulatedProgram program;
      program.run_noise = noise;
      const SimulatedComparisons equal = simulate(program, runs, runs);
      program.slow_sites = 1;
      program.slowdown = 0.05;
      const SimulatedComparisons five = simulate(program, runs, runs);
      program.slowdown = 0.1;
      const SimulatedComparisons ten = simulate(program, runs, runs);
      if (runs == 1) {
        std::printf("| 1 | %.0f %% | - | - | - | %.1f %% | (%.0f of 100 equal sites are worse or better here)\n",
                    percent(noise), percent(equal.covered_share()), percent(equal.here_share()));
        continue;
      }
      std::printf("| %zu | %.0f %% | %.0f %% | %.0f %% | %.1f %% | %.1f %% |\n", runs, percent(noise),
                  percent(five.found_share()), percent(ten.found_share()), percent(equal.alarm_share()),
                  percent(equal.covered_share()));
      std::fflush(stdout);
    }
  }
}

struct Case {
  const char* name;
  SimulatedProgram program;
};

/// A share in percent behind a space.
std::string format(int decimals, double share) {
  char text[32];
  std::snprintf(text, sizeof text, " %.*f", decimals, percent(share));
  return text;
}

/// Programs that do not fit the model, without any difference and with one slow site of ten.
void print_robustness() {
  SimulatedProgram half;
  half.run_noise = 0.014;
  half.common_noise = 0.014;
  SimulatedProgram common;
  common.run_noise = 0.001;
  common.common_noise = 0.02;
  SimulatedProgram heavy;
  heavy.has_heavy_tails = true;
  SimulatedProgram calls;
  calls.calls = {200, 20, 5, 1};
  calls.call_noise = 0.1;
  SimulatedProgram uneven;
  uneven.noise_ratio = 5;
  SimulatedProgram all_of_it = heavy;
  all_of_it.common_noise = 0.02;
  all_of_it.calls = {200, 20, 5, 1};
  SimulatedProgram shaky;
  shaky.new_noise_ratio = 3;
  SimulatedProgram many;
  many.sites = 200;
  std::printf(
      "\n| program | 10 %% slower found: 3, 10 runs a side | false alarms: 2, 3, 10 runs a side; 2 and 10; 10 and 2 | "
      "intervals hold the truth: the same |\n| --- | --- | --- | --- |\n");
  for (const Case& one :
       {Case{"half of the noise is common to all scopes", half}, Case{"all of the noise is common", common},
        Case{"heavy tails", heavy}, Case{"200, 20, 5 or 1 calls", calls},
        Case{"every second scope at 10 % noise", uneven}, Case{"heavy tails, drift, few calls", all_of_it},
        Case{"the new side at 6 % noise", shaky}, Case{"200 scopes", many}}) {
    std::string found;
    for (const std::size_t runs : {3U, 10U}) {
      SimulatedProgram slower = one.program;
      slower.slow_sites = 1;
      slower.slowdown = 0.1;
      found += format(0, simulate(slower, runs, runs).found_share());
    }
    std::string alarms;
    std::string covered;
    for (const auto& [base_runs, new_runs] :
         {std::pair(2U, 2U), std::pair(3U, 3U), std::pair(10U, 10U), std::pair(2U, 10U), std::pair(10U, 2U)}) {
      const SimulatedComparisons equal = simulate(one.program, base_runs, new_runs);
      alarms += format(1, equal.alarm_share());
      covered += format(1, equal.covered_share());
    }
    std::printf("| %s |%s |%s |%s |\n", one.name, found.c_str(), alarms.c_str(), covered.c_str());
    std::fflush(stdout);
  }
}

/// What a comparison as users run it takes.
void print_cost() {
  std::printf("\n| sites | runs a side | comparing takes |\n| --- | --- | --- |\n");
  for (const std::size_t sites : {10U, 200U, 1000U}) {
    for (const std::size_t runs : {3U, 10U}) {
      SimulatedProgram program;
      program.sites = sites;
      kymo::test::RunSimulation simulation(program, 1);
      const kymo::stats::SideSamples base = simulation.side(runs, false);
      const kymo::stats::SideSamples changed = simulation.side(runs, true);
      const auto start = std::chrono::steady_clock::now();
      const kymo::stats::Comparison found = kymo::stats::compare(base, changed);
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
      std::printf("| %zu | %zu | %.0f ms |\n", found.things.size(), runs, took.count());
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    comparisons = std::atoi(arguments[1]);
  }
  print_cost();
  print_power();
  print_robustness();
}
