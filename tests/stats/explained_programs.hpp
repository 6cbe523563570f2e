// Made-up programs whose slow frames have one known cause, for tests and benchmarks of explanations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <kymo/explain.hpp>

namespace kymo::test {

/// A program and its cause.
struct ExplainedProgram {
  const char* name;
  std::vector<std::string> words;  ///< of the text of the finding that names the cause
  void (*run)(class FrameSimulation& simulation);

  /// For GoogleTest, which would print the bytes.
  friend void PrintTo(const ExplainedProgram& program, std::ostream* out) { *out << program.name; }
};

[[nodiscard]] const std::vector<ExplainedProgram>& explained_programs();

/// What an explanation of one run came to.
struct ExplainedRun {
  bool is_slow_found = false;  ///< there is a slow set
  std::size_t findings = 0;
  bool is_cause_first = false;
  double true_share = 0;                ///< of the excess between kymo's own slow and usual frames
  double found_share = 0;               ///< of the first finding
  std::string first;                    ///< its text
  std::vector<std::string> companions;  ///< names of the metrics that go along
};

/// Records the program with a random strength of its cause, or without the cause, and explains it.
[[nodiscard]] ExplainedRun explain_program(const ExplainedProgram& program, bool has_cause, std::uint64_t seed);

}  // namespace kymo::test
