// The tree of processes below a root.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sense/common/sensor.hpp"
#include "sense/process/process_ledger.hpp"

namespace kymo::sense {

/// The content of /proc/PID/stat. Times are in clock ticks. "Waited" covers the process's finished children and their
/// own finished children, from when they were waited for.
struct ProcessStat {
  std::uint64_t pid = 0;
  std::uint64_t parent = 0;
  char state = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t waited_minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t waited_major_faults = 0;
  std::uint64_t ticks = 0;
  std::uint64_t waited_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;  ///< distinguishes processes with the same pid

  /// Ended but not waited for: its times can still be read.
  [[nodiscard]] bool is_ended() const { return state == 'Z' || state == 'X'; }
};

/// Nothing for an incomplete text.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

/// Finds the tree's processes a few times a second. One thread at a time.
class ProcessTree {
 public:
  static constexpr std::size_t most_processes = 4096;

  /// A process that was in the tree at the previous look and has left it.
  struct Gone {
    std::uint64_t pid = 0;
    /// Its parent if that still exists; else ProcessLedger's `unknown`, or `outside` if it lives on outside.
    std::uint64_t heir = 0;
  };

  explicit ProcessTree(const SensorContext& context, std::size_t most = most_processes);

  /// Looks at all processes, parents before their children. Returns false if the root has ended and was waited for, or
  /// cannot be read. trouble() then says which, and everything else is unchanged.
  bool look();

  /// Parents precede their children.
  [[nodiscard]] const std::vector<ProcessStat>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<Gone>& gone() const { return gone_; }
  /// The number of processes exceeds the limit; the newest are left out.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// The last look found no root because it has ended.
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  /// Number of files that the last look opened, a measure of its cost.
  [[nodiscard]] std::size_t files_opened() const { return files_opened_; }
  /// The time until the next look that keeps the cost of looks below about half a percent of a core.
  [[nodiscard]] std::int64_t look_period_ns() const {
    return std::max<std::int64_t>(least_period_ns, static_cast<std::int64_t>(files_opened_) * 1'000'000);
  }
  static constexpr std::int64_t least_period_ns = 99'000'000;  // 100 ms minus the tolerance for late deadlines
  /// "/proc/12/", including the root.
  [[nodiscard]] std::string directory(std::uint64_t pid) const;

 private:
  [[nodiscard]] std::optional<ProcessStat> stat_of(std::uint64_t pid);
  void find_children(std::uint64_t pid, std::vector<std::uint64_t>& children);
  void scan_parents();
  bool add(std::uint64_t pid, bool is_orphan = false);
  void follow(std::size_t from);
  void settle_missing();
  [[nodiscard]] bool has(const ProcessStat& process) const;

  SensorContext context_;
  std::size_t most_;
  std::vector<ProcessStat> processes_;
  std::vector<ProcessStat> before_;                    // of the previous look
  std::map<std::uint64_t, const ProcessStat*> known_;  // by pid, of the previous look
  std::map<std::uint64_t, std::uint64_t> starts_;      // start time by pid, of processes found at this look
  std::size_t new_processes_ = 0;
  std::size_t files_opened_ = 0;
  std::vector<Gone> gone_;
  std::multimap<std::uint64_t, std::uint64_t> by_parent_;  // all processes of the machine, if needed
  std::vector<std::uint64_t> children_;
  std::vector<char> buffer_;
  std::string trouble_;
  bool has_ended_ = false;
  std::uint64_t root_start_ = 0;
  bool has_children_files_ = false;
  bool is_cut_ = false;
};

/// Reads a small file of proc, at most as much as `buffer` holds. Sets `error` to the errno (0: success).
[[nodiscard]] std::string_view read_once(const std::string& path, std::vector<char>& buffer, int& error);

/// Whether the errno of a read means that the process is gone.
[[nodiscard]] bool means_gone(int error);

}  // namespace kymo::sense
