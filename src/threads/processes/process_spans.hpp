// Turns the kernel's records about threads into spans of processes: when each one ran, what it was, and what it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

#include "base/system/file.hpp"
#include "threads/states/kernel_records.hpp"
#include "threads/states/switch_events.hpp"

namespace kymo::threads {

/// Follows the processes of a tree. Each becomes a span on one of as many tracks as processes ran at once, with its
/// arguments as far as they could be read:
///
/// - pid, parent (its pid), and command, with its directory cut;
/// - cpu_ns: the time that its threads ran, by their switches;
/// - memory_bytes: its greatest resident size, as read last before its end, so that it may have been greater;
/// - exit_status or signal, which kernels tell from 6.15 on.
///
/// What ended within some 200 ms has neither command, memory nor exit status: it was gone before it could be asked. A
/// command that started no process has no spans. One thread.
class ProcessSpans final : public RecordTaker {
 public:
  /// Processes beyond this number at a time are not followed.
  static constexpr std::size_t most_processes = std::size_t{1} << 14U;

  /// Without `has_switches`, there is no CPU time. `has_commands`: whether command lines may be kept.
  ProcessSpans(bool has_switches, bool has_commands) : has_switches_(has_switches), has_commands_(has_commands) {}

  void take(const KernelRecord& record, ThreadId thread) override;
  /// Records are missing: the CPU time of those that live is not known.
  void lose() override;
  /// Asks the kernel about the processes that live. Some 20 us each, for 256 of them at most.
  void look();
  /// Moves the spans of those that ended into `batch`; with `is_last`, also of those that go on, up to `now_ns`.
  void collect(std::int64_t now_ns, bool is_last, EventBatch& batch);

  struct Ended {
    std::string command;
    std::int64_t duration_ns = 0;
  };
  /// The longest ones that started three others at most, as compilers do, and unlike make. Of one and those that it
  /// started the longest is there alone, and never the command itself.
  [[nodiscard]] std::vector<Ended> longest(std::size_t count) const;
  [[nodiscard]] std::uint64_t started() const { return started_; }
  [[nodiscard]] std::size_t most_at_once() const { return lanes_.size(); }

 private:
  struct Process {
    std::uint64_t number = 0;              ///< among all; the command's is 1
    std::vector<std::uint64_t> ancestors;  ///< their numbers
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t children = 0;
    std::uint32_t threads = 1;
    std::size_t lane = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t cpu_ns = 0;
    bool is_cpu_known = true;
    bool asks_command = true;
    std::string name;
    std::string command;
    std::uint64_t memory_bytes = 0;
    base::FileDescriptor handle;  // a pidfd
  };
  struct Thread {
    std::uint32_t pid = 0;
    std::int64_t running_since_ns = -1;  // -1: it does not run, or nobody knows
  };
  struct Candidate {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> ancestors;
    Ended ended;
  };

  Process* begin(const KernelRecord& record);
  void begin_thread(const KernelRecord& record);
  void rename(const KernelRecord& record);
  void end_thread(const KernelRecord& record);
  void stop_running(Thread& thread, std::int64_t time_ns);
  void ask(Process& process) const;
  void nominate(const Process& process, std::int64_t end_ns);
  void add_span(const Process& process, std::int64_t end_ns, EventBatch& batch);
  void declare(EventBatch& batch);
  [[nodiscard]] NameId name_of(const std::string& name, EventBatch& batch);

  bool has_switches_;
  bool has_commands_;
  std::unordered_map<std::uint32_t, Process> processes_;  // by pid
  std::unordered_map<std::uint32_t, Thread> threads_;     // by the kernel's id
  std::vector<Process> ended_;
  std::vector<bool> lanes_;  // which are taken
  std::size_t declared_lanes_ = 0;
  std::unordered_map<std::string, NameId> names_;
  std::uint32_t last_name_ = 0;
  std::vector<Candidate> candidates_;
  std::uint64_t started_ = 0;
};

}  // namespace kymo::threads
