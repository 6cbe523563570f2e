// Functions of a capture by the stacks that `kymo record --stacks` sampled.
//
//     for (const kymo::FunctionStatistics& row : kymo::read_functions(kymo::Timeline("run.kymo")).functions) { ... }
//
// docs/stacks.md says what the numbers mean. Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/export.hpp>
#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// What a row is: all functions of one name in one file, or one line in them.
enum class SampledRows { functions, lines };

/// The samples of one function, or of one of its lines.
struct FunctionStatistics {
  std::string name;         ///< "draw"; without a name "libm.so.6+0x1f40", "[vdso]", "[unknown]"
  std::string module;       ///< the file's path; empty: none
  std::string file;         ///< the path of the function's source, as debug information has it; empty: not known
  std::uint32_t line = 0;   ///< of SampledRows::lines: where it was found, or where it called; 0: not known
  std::uint64_t self = 0;   ///< samples that found a thread in it
  std::uint64_t total = 0;  ///< samples that found a thread in it or in what it called
  std::uint64_t self_blocked_ns = 0;  ///< what threads waited in it
  std::uint64_t total_blocked_ns = 0;
  /// Half the width of 95 % intervals, where SampledFunctions::unsampled_ns is not 0.
  std::uint64_t self_blocked_bound_ns = 0;
  std::uint64_t total_blocked_bound_ns = 0;
  Energy self_energy;  ///< estimated; where SampledFunctions::has_energy
  Energy total_energy;
};

/// Where the selected threads computed and waited, by sampled stacks.
struct SampledFunctions {
  std::uint64_t blocked_ns = 0;                 ///< all waits that were selected
  std::uint64_t unsampled_ns = 0;               ///< among them those whose stacks were not taken
  std::uint64_t samples = 0;                    ///< all that were selected
  std::uint64_t unread = 0;                     ///< among them those whose stack could not be read
  std::size_t threads = 0;                      ///< that have samples
  bool has_energy = false;                      ///< power was recorded
  std::vector<FunctionStatistics> functions;    ///< or lines; by descending self, then total
  std::vector<std::uint32_t> by_stack;          ///< samples by number of the stack; 0: not declared
  std::vector<std::uint64_t> blocked_by_stack;  ///< the same of what threads waited, in ns
};

/// The functions of a selection; with sites only samples taken inside their scopes on the same thread. Three passes
/// over the timeline's samples, with sites another over its scopes. Throws SelectionError.
[[nodiscard]] KYMO_API SampledFunctions read_functions(const Timeline& timeline, const SelectionOptions& part = {},
                                                       SampledRows rows = SampledRows::functions);

}  // namespace kymo
