// How often `kymo explain` names the cause of slow frames, with which share, and how often it finds one where there is
// none: made-up programs with one known cause each. Prints a table of docs/explain.md.
//
//     explain_benchmark [RUNS]    runs of each program with its cause, and as many without it (50)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "stats/explained_programs.hpp"

namespace {

using kymo::test::ExplainedProgram;
using kymo::test::ExplainedRun;

/// Prints the row of a program, and below it the first answer that is wrong.
void print_program(const ExplainedProgram& program, int runs) {
  int first = 0;
  int close = 0;
  int others = 0;
  int alarms = 0;
  std::vector<double> errors;
  std::string wrong;
  for (int run = 0; run < runs; ++run) {
    const ExplainedRun with = kymo::test::explain_program(program, true, 1000 + static_cast<std::uint64_t>(run));
    const double error = std::abs(with.found_share - with.true_share);
    first += with.is_cause_first ? 1 : 0;
    close += with.is_cause_first && error <= 0.1 ? 1 : 0;
    others += with.findings > 1 ? 1 : 0;
    if (with.is_cause_first) {
      errors.push_back(error);
    } else if (wrong.empty()) {
      wrong = with.first.empty() ? "nothing stands out" : with.first;
    }
    const ExplainedRun without = kymo::test::explain_program(program, false, 5000 + static_cast<std::uint64_t>(run));
    alarms += without.findings != 0 ? 1 : 0;
  }
  std::sort(errors.begin(), errors.end());
  const double percent = 100.0 / runs;
  std::printf("| %s | %.0f %% | %.0f %% | %.1f | %.0f %% | %.0f %% |\n", program.name, percent * first, percent * close,
              errors.empty() ? 0 : 100 * errors[errors.size() / 2], percent * others, percent * alarms);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s: %s\n", program.name, wrong.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::atoi(arguments[1]) : 50;
  if (runs <= 0) {
    std::fprintf(stderr, "explain_benchmark [RUNS]\n");
    return 2;
  }
  std::printf(
      "| cause | named first | and its share within 10 points | median error of the share, points | further findings | "
      "findings without the cause |\n| --- | --- | --- | --- | --- | --- |\n");
  for (const ExplainedProgram& program : kymo::test::explained_programs()) {
    print_program(program, runs);
  }
}
