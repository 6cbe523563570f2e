// Why some frames or scopes took longer than the others: causes with their shares, and what stays unexplained.
//
//     for (const kymo::Explanation& why : kymo::explain(timeline)) {
//       for (const kymo::Finding& finding : why.findings) { use(finding.text, finding.share); }
//     }
//
// docs/explain.md describes the method for users. Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/comparison.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// A frame, or a scope of one site.
struct Instance {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  TrackId track{};           ///< whose thread's time it is
  std::uint64_t number = 0;  ///< frames: the FrameNumber; scopes: by ascending start, from 1
  ThreadId thread{};         ///< whose time it is, of a thread without scopes, which has no track

  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// Fewer instances say nothing about what is usual.
constexpr std::size_t least_instances = 20;

/// How to choose the slow set. The default is the upper tail that stands apart by more than chance.
struct SlowSetOptions {
  std::optional<std::int64_t> over_ns;  ///< a target: what takes longer is slow
  std::optional<std::uint64_t> number;  ///< the instance of this number alone
  std::optional<TimeRange> time;        ///< the instances that overlap this interval
  std::size_t most_slow = 500;          ///< keeps the slowest
  std::size_t most_usual = 2'000;       ///< keeps a random sample, always the same
};

/// What the owner of a stretch of time did in it.
enum class OwnerKind : std::uint8_t {
  computing = 0,   ///< inside a scope, on the CPU or without known run state
  pushed_off = 1,  ///< could have run, but another thread had the CPU
  blocked = 2,     ///< waited for something that the capture does not name
  held = 3,        ///< held a lock, in a thread that is not known; or was to end the wait, in a thread without scopes
  queue = 4,       ///< a span of a queue ran, such as one of a GPU
  waking = 5,      ///< what was waited for had come; the waiter had not gone on yet
  clock = 6,       ///< computing, for the part of the time that a lower clock than usual adds; an estimate
};

/// Name for tables and files: that of the enumerator.
[[nodiscard]] KYMO_API std::string_view name_of(OwnerKind kind) noexcept;

/// A site or a named span. Sites of several processes or versions are one if name, function and file are equal; of
/// waits, if name and file are.
struct Subject {
  std::string name;
  std::string function;
  std::string file;
  std::uint32_t line = 0;  ///< of one of them
};

/// Part of a finding: a scope or a span in which the owner's time went.
struct FindingPart {
  Subject subject;
  std::string thread;  ///< whose time it was; of the instance's own threads the one with most of it
  double excess_ns = 0;
};

/// A line of the source.
struct SourcePlace {
  std::string function;  ///< that it is in
  std::string file;      ///< its path
  std::uint32_t line = 0;
};

/// A function that the finding's excess was spent in, by sampled stacks of threads that computed or waited.
struct FindingFunction {
  std::string name;                  ///< "malloc"; without a symbol "libc.so.6+0x1f40"
  std::string module;                ///< the name of its file; empty: none
  bool is_kernel = false;            ///< the kernel worked for it, not itself
  bool is_caller = false;            ///< with what it called; otherwise itself alone
  double share = 0;                  ///< of the finding's excess
  std::optional<Interval> interval;  ///< 95 % interval of the share; none for waits in fewer than three slow instances
  std::uint64_t samples = 0;         ///< in slow instances: samples, or parts of waits
  /// The line that at least half of its excess was in: its own, or where its source is not known the line it was called
  /// from.
  std::optional<SourcePlace> place;
};

/// An instance as evidence of a finding.
struct FindingInstance {
  Instance instance;
  double owned_ns = 0;  ///< by the finding's cause
};

/// A metric whose values differ between slow and usual instances. It may follow from the cause, or from the same cause.
struct Companion {
  MetricId metric{};
  double slow = 0;  ///< median over the instances that have a value
  double usual = 0;
  double p_value = 1;  ///< corrected for the number of metrics
};

/// One cause of the difference between slow and usual instances.
struct Finding {
  OwnerKind kind = OwnerKind::computing;
  std::vector<std::string> waits;  ///< scopes that waited for it, the instance's own first
  std::vector<FindingPart> parts;  ///< by descending excess
  std::vector<FindingFunction>
      functions;                 ///< where stacks were sampled and tell enough: self by descending share, a caller last
  std::vector<Companion> bytes;  ///< of blocked ones: metrics of I/O that surely go along with it
  std::string text;              ///< the cause in words; names as recorded, unescaped
  double excess_ns = 0;          ///< mean of the slow instances minus that of the usual ones
  double share = 0;              ///< of the whole excess
  std::optional<Interval>
      interval;                  ///< 95 % bootstrap interval of the share; none with fewer than three slow instances
  double p_value = 1;            ///< of the permutation test, corrected for everything that was tried
  std::size_t in_instances = 0;  ///< slow instances with more of it than 95 % of the usual ones
  bool is_first_time = false;    ///< the scope never ran before
  std::vector<FindingInstance> slow;  ///< by descending time owned
  std::vector<double> usual_ns;       ///< what it owns of each usual instance
};

/// Why some instances of a site, or some frames, took longer than the usual ones.
struct Explanation {
  std::string name;            ///< of the site; empty: frames of the main stream
  std::string process;         ///< whose frames, where several processes marked theirs at a time: "game (process 123)"
  bool is_comparison = false;  ///< slow ones are those of the new captures, usual ones those of the base
  bool is_chosen = false;      ///< slow ones are those of a number or an interval
  std::int64_t over_ns = 0;    ///< slow ones take longer than this target; 0: none was set
  std::size_t instances = 0;
  std::size_t slow = 0;   ///< in the slow set; the slowest 500 are looked at
  std::size_t usual = 0;  ///< looked at
  double slow_mean_ns = 0;
  double usual_mean_ns = 0;
  double median_ns = 0;
  double longest_ns = 0;
  std::vector<Finding> findings;  ///< sure ones by descending excess, at most five; empty: nothing stands out
  std::vector<Finding> shorter;   ///< what took surely less time in slow instances, for example idling: at most three
  std::vector<Companion> companions;  ///< by ascending p-value, at most five
  double unexplained_ns = 0;          ///< excess minus that of findings and `shorter`
  std::vector<Instance> slowest;      ///< at most five
  std::vector<std::string> notes;     ///< what limits the answer

  [[nodiscard]] double excess_ns() const { return slow_mean_ns - usual_mean_ns; }
};

/// Selects what is explained, and how.
struct ExplainOptions {
  std::string site;  ///< pattern; empty: frames, or the costliest sites if there are none
  SlowSetOptions slow;
  std::vector<std::size_t> base_captures;  ///< not empty: explains why the other captures are slower than these
  std::uint64_t seed = 1;
  double most_p = 0.05;       ///< findings have at most this p-value
  double least_share = 0.05;  ///< and at least this share
  std::function<void(double)> on_progress = {};
};

/// Explains the slow frames of the main stream, the slow scopes of a site, or, without frames, those of the costliest
/// sites: one explanation for each of up to three that have any. Frames of several processes that ran at a time are
/// explained one process after the other. Never empty: where nothing is slow, the explanation of
/// the first has no findings. Throws SelectionError if the site or the frame does not exist, or there is nothing to
/// explain.
///
/// With base captures, instances of all others are compared with theirs, as far as these take longer by more than
/// chance. That is about these recordings: whether the programs differ, the runs tell (comparison.hpp).
///
/// A few passes over the blocks around the instances that are looked at, about 30 ns a scope each. Memory is bounded by
/// two million instances, waits, hand-overs and sampled stacks each, not by the files.
[[nodiscard]] KYMO_API std::vector<Explanation> explain(const Timeline& timeline, const ExplainOptions& options = {});

/// Says in a sentence which instances take how much longer, and how much of that is explained. Names as recorded,
/// unescaped.
[[nodiscard]] KYMO_API std::string describe(const Explanation& why);

}  // namespace kymo
