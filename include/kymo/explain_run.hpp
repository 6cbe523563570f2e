// Where the time of a whole run went: computing, waiting and for whom, pushed off the CPU. Programs need no scopes.
//
//     const kymo::RunExplanation run = kymo::explain_run(timeline);
//     for (const kymo::RunPart& part : run.parts) { use(part.text, part.share); }
//
// docs/explain.md describes the method for users. Component kymo::analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// What took a part of the run's time.
struct RunPart {
  OwnerKind kind = OwnerKind::computing;  ///< held and without waits: nothing was recorded
  std::vector<std::string> waits;         ///< scopes or threads that waited for it, the run's own first
  std::vector<FindingPart> parts;         ///< by descending time
  std::vector<FindingFunction>
      functions;     ///< where stacks were sampled and tell enough: self by descending share, a caller last
  std::string text;  ///< in words; names as recorded, unescaped
  double duration_ns = 0;
  double share = 0;  ///< of the run
};

/// Where the time of a thread went, from its first to its last recorded moment. The parts and the rest add up to it.
struct RunExplanation {
  std::string thread;     ///< its name
  std::uint64_t pid = 0;  ///< of its process
  TimeRange range;
  std::vector<RunPart> parts;      ///< by descending time: at most ten, of 1 % or more
  double other_ns = 0;             ///< what smaller parts have
  std::vector<std::string> notes;  ///< what limits the answer

  [[nodiscard]] double duration_ns() const { return static_cast<double>(range.end_ns - range.start_ns); }
};

/// Explains the time of the main thread that was recorded longest: that of the program, where `kymo record` ran it.
/// Waits are followed as explain() does it: through locks, flows, queues and the threads that ended them, scopes or
/// not. Throws SelectionError if neither scopes nor run states were recorded.
///
/// A few passes over all data, one for each thread that waits follow one another through. Stretches of ten seconds are
/// explained one by one, so memory is bounded by two million waits, hand-overs and sampled stacks each. A wait that
/// ends in another stretch is not followed up to the stretch's end.
[[nodiscard]] KYMO_API RunExplanation explain_run(const Timeline& timeline,
                                                  const std::function<void(double)>& on_progress = nullptr);

/// Says in a sentence whose time that is, and how long it took. Names as recorded, unescaped.
[[nodiscard]] KYMO_API std::string describe(const RunExplanation& run);

}  // namespace kymo
