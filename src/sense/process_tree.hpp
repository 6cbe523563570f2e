// The tree of processes below a root.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sense/process_ledger.hpp"
#include "sense/sensor.hpp"

namespace kymo::sense {

/// What /proc/PID/stat says. Times in clock ticks. "Waited" is what the process's finished children used, theirs
/// included, from when it waited for them.
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
  std::uint64_t start_ticks = 0;  ///< tells apart processes that had the same pid

  /// Ended, but nobody has waited for it: its times can still be read.
  [[nodiscard]] bool is_ended() const { return state == 'Z' || state == 'X'; }
};

/// Nothing for a text that is not whole.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

/// Finds the tree's processes, some times a second. One thread at a time.
class ProcessTree {
 public:
  static constexpr std::size_t most_processes = 4096;

  /// A process that was in the tree at the look before and is not any more.
  struct Gone {
    std::uint64_t pid = 0;
    /// Its parent, if that is still there; else ProcessLedger's `unknown`, or `outside` where it lives on.
    std::uint64_t heir = 0;
  };

  explicit ProcessTree(const SensorContext& context, std::size_t most = most_processes);

  /// Looks at all processes, parents before their children. False where the root has ended and was waited for, or
  /// cannot be read: trouble() says which, and everything else is as it was.
  bool look();

  /// Parents stand before their children.
  [[nodiscard]] const std::vector<ProcessStat>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<Gone>& gone() const { return gone_; }
  /// There are more processes than may be watched: the newest are left out.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// Files that the last look opened: what it cost.
  [[nodiscard]] std::size_t files_opened() const { return files_opened_; }
  /// How long to wait for the next look so that looking stays below about half a percent of a core.
  [[nodiscard]] std::int64_t look_period_ns() const {
    return std::max<std::int64_t>(least_period_ns, static_cast<std::int64_t>(files_opened_) * 1'000'000);
  }
  static constexpr std::int64_t least_period_ns = 99'000'000;  // 100 ms, and what a deadline may be late
  /// "/proc/12/", with the root before it.
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
  std::vector<ProcessStat> before_;                    // of the look before
  std::map<std::uint64_t, const ProcessStat*> known_;  // by pid, of the look before
  std::map<std::uint64_t, std::uint64_t> starts_;      // pid to start of those found at this look
  std::size_t new_processes_ = 0;
  std::size_t files_opened_ = 0;
  std::vector<Gone> gone_;
  std::multimap<std::uint64_t, std::uint64_t> by_parent_;  // all processes of the machine, where that is needed
  std::vector<std::uint64_t> children_;
  std::vector<char> buffer_;
  std::string trouble_;
  std::uint64_t root_start_ = 0;
  bool has_children_files_ = false;
  bool is_cut_ = false;
};

/// Reads a small file of proc whole, at most as much as `buffer` holds; the errno in `error` (0: read).
[[nodiscard]] std::string_view read_once(const std::string& path, std::vector<char>& buffer, int& error);

/// A process that is not there any more, as the errno of a read tells it.
[[nodiscard]] bool means_gone(int error);

}  // namespace kymo::sense
