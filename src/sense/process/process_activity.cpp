// How a process tree uses the kernel: context switches and page faults of its threads, and bytes read and written.
//
// /proc/PID/io counts the reads and writes of a process, of its ended threads and of the children that it waited for.
// All of it is therefore "waited for" in terms of ProcessLedger. Context switches are known per thread and vanish with
// the thread, so the rate misses switches after the last look at a thread.
//
// Page faults of each thread are in /proc/PID/task/TID/stat, which anybody may read of one's own processes: the same
// numbers as getrusage's of the thread. The kernel's software counters would need a descriptor for each thread and CPU,
// and where perf_event_paranoid is 2 they leave out what the kernel faults in on a thread's behalf. So the file is
// read, some 10 us, but only of threads that ran since the last look: the others have no new faults.
#include <unistd.h>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/system/system.hpp"
#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/process/process_tree.hpp"

namespace kymo::sense {

namespace {

struct Transfer {
  std::string_view key;
  std::string_view metric;
};

constexpr std::array transfers = {
    Transfer{"rchar:", "process_read_chars"},
    Transfer{"wchar:", "process_written_chars"},
    Transfer{"read_bytes:", "process_read_bytes"},
    Transfer{"write_bytes:", "process_written_bytes"},
};
using Ledger = ProcessLedger<transfers.size()>;
using Bytes = Ledger::Amounts;

/// False for an incomplete text.
bool parse_io(std::string_view text, Bytes& bytes) {
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    auto line = behind_key(text, transfers[i].key);
    const std::optional<std::uint64_t> number = line ? line->number() : std::nullopt;
    if (!number || *number > (std::uint64_t{1} << 62U)) {
      return false;
    }
    bytes[i] = static_cast<std::int64_t>(*number);
  }
  return true;
}

/// Voluntary and involuntary switches of a thread; nothing for an incomplete text.
std::optional<std::uint64_t> parse_switches(std::string_view text) {
  std::uint64_t sum = 0;
  for (const std::string_view key : {"voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"}) {
    auto line = behind_key(text, key);
    const std::optional<std::uint64_t> number = line ? line->number() : std::nullopt;
    if (!number) {
      return std::nullopt;
    }
    sum += *number;
  }
  return sum;
}

/// Threads beyond this number have no metrics of their own.
constexpr std::size_t most_faulty_threads = 256;

struct FaultCounts {
  std::uint64_t minor = 0;  // the page was in memory
  std::uint64_t major = 0;  // it had to be read

  [[nodiscard]] bool is_since(const FaultCounts& earlier) const {
    return minor >= earlier.minor && major >= earlier.major;
  }
};

/// One thread from look to look.
struct FaultyThread {
  FaultCounts base;  // at the first look, for threads that were there before
  FaultCounts latest;
  std::optional<std::pair<std::size_t, std::size_t>> metrics;  // minor, major; none: not taken up (yet)
  bool was_seen = false;
};

/// Whether a thread needs its stat file read now. One that comes and goes within a look is never taken up: there are
/// too many.
bool wants_faults(const FaultyThread& thread, bool is_first_look, bool has_run) {
  return thread.metrics ? has_run : is_first_look || thread.was_seen;
}

/// The faults in a stat file; nothing for an incomplete text.
std::optional<FaultCounts> parse_faults(std::string_view stat) {
  const std::optional<ProcessStat> parsed = parse_process_stat(stat);
  return parsed ? std::optional(FaultCounts{parsed->minor_faults, parsed->major_faults}) : std::nullopt;
}

/// Whether a status file says that the thread runs, or could.
bool is_running(std::string_view status) {
  return behind_key(status, "State:\tR").has_value();
}

/// The declaration of one of a thread's metrics. `status`: its status file, which has its name.
MetricDeclaration describe_faults(const char* name, std::string_view thread, std::uint64_t pid,
                                  std::string_view status) {
  const auto comm = behind_key(status, "Name:\t");
  return describe(
      name, "", "/proc/PID/task/TID/stat", MetricKind::counter, 1,
      {{"thread", std::string(thread)}, {"pid", std::to_string(pid)}, {"name", std::string(comm ? comm->rest() : "")}});
}

/// Whether another process, which observes this one, counts the faults of its threads.
bool has_observer(const SensorContext& context) {
  const char* const machine = base::trusted_variable("KYMO_MACHINE");
  return context.process == static_cast<std::uint64_t>(::getpid()) && machine != nullptr &&
         std::string_view(machine) == "off";
}

struct MemberThread {
  std::uint64_t switches = 0;
  FaultyThread faults;
};

struct Member {
  bool has_io = false;
  bool is_gone = false;                         // ended during this look
  Bytes newest{};                               // content of the file at this look
  std::map<std::string, MemberThread> threads;  // by the kernel's number
};

class ProcessActivitySensor final : public Sensor {
 public:
  explicit ProcessActivitySensor(const SensorContext& context)
      : Sensor("process", Tier::medium),
        process_(context.process),
        counts_faults_(!has_observer(context)),
        tree_(context),
        buffer_(16 * 1024) {
    MetricDeclaration switches = describe("process_context_switches", "1/s", "/proc/PID/task/TID/status");
    switches.window_ns = ProcessTree::least_period_ns;
    switches_ = add_metric(std::move(switches));
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      io_[i] = add_metric(describe(transfers[i].metric, "B", "/proc/PID/io", MetricKind::counter, 1));
    }
  }

 protected:
  void read_source(std::int64_t now_ns) override {
    if (now_ns < next_look_ns_) {
      return;
    }
    if (!tree_.look()) {
      tree_.has_ended() ? set_ended(tree_.trouble()) : set_unavailable(tree_.trouble());
      return;
    }
    files_ = tree_.files_opened();
    unreadable_.clear();
    for (const ProcessTree::Gone& gone : tree_.gone()) {
      ledger_.retire(gone.pid, gone.heir);
      members_.erase(gone.pid);
    }
    read_switches(now_ns);
    is_first_look_ = false;
    read_io();
    constexpr const char* advice =
        "processes of other users, and those that gained privileges, can be read as root only";
    set_trouble(unreadable_, unreadable_.empty() ? "" : advice);
    next_look_ns_ =
        now_ns + std::max<std::int64_t>(ProcessTree::least_period_ns, static_cast<std::int64_t>(files_) * 2'000'000);
    rest_until(next_look_ns_);
  }

 private:
  void read_switches(std::int64_t now_ns) {
    for (const ProcessStat& process : tree_.processes()) {
      Member& member = members_[process.pid];
      if (!process.is_ended()) {
        read_threads(process.pid, member);
      }
    }
    const double per_second = switch_rate_.take(static_cast<double>(switch_count_), now_ns);
    if (!std::isnan(per_second)) {
      set(switches_, std::round(per_second * 100) / 100);
    }
  }

  void read_threads(std::uint64_t pid, Member& member) {
    const std::string tasks = tree_.directory(pid) + "task/";
    std::map<std::string, MemberThread> now;
    for (std::string& name : list_directory(tasks)) {
      int error = 0;
      ++files_;
      const std::string_view status = read_once(tasks + name + "/status", buffer_, error);
      const auto before = member.threads.find(name);
      MemberThread thread = before != member.threads.end() ? before->second : MemberThread();
      const std::uint64_t known = thread.switches;
      thread.switches = parse_switches(status).value_or(known);
      switch_count_ += thread.switches > known ? thread.switches - known : 0;
      if (error == 0) {
        read_faults(pid, name, std::string(status), thread.switches != known, thread.faults);
      }
      now.emplace(std::move(name), thread);
    }
    member.threads = std::move(now);
  }

  void read_faults(std::uint64_t pid, const std::string& name, const std::string& status, bool has_switched,
                   FaultyThread& thread) {
    if (!counts_faults_ || (!thread.metrics && faulty_threads_ == most_faulty_threads)) {
      return;
    }
    if (wants_faults(thread, is_first_look_, has_switched || is_running(status))) {
      int error = 0;
      ++files_;
      const std::optional<FaultCounts> counts =
          parse_faults(read_once(tree_.directory(pid) + "task/" + name + "/stat", buffer_, error));
      if (!counts) {
        return;
      }
      if (!counts->is_since(thread.latest)) {
        thread = {};  // another thread, with the number of one that has ended
      }
      thread.latest = *counts;
      if (!thread.metrics) {
        ++faulty_threads_;
        thread.base = is_first_look_ ? *counts : FaultCounts();
        const std::size_t minor = add_metric(describe_faults("thread_minor_faults", name, pid, status));
        thread.metrics = {minor, add_metric(describe_faults("thread_major_faults", name, pid, status))};
      }
    }
    thread.was_seen = true;
    if (thread.metrics) {
      set(thread.metrics->first, static_cast<double>(thread.latest.minor - thread.base.minor));
      set(thread.metrics->second, static_cast<double>(thread.latest.major - thread.base.major));
    }
  }

  void read_io() {
    bool is_known = true;
    for (const ProcessStat& process : tree_.processes()) {
      Member& member = members_[process.pid];
      int error = 0;
      ++files_;
      const std::string path = tree_.directory(process.pid) + "io";
      member.has_io = parse_io(read_once(path, buffer_, error), member.newest);
      // Parents are read before their children. The parent's numbers may already include a process that is gone, so it
      // is not treated as a child still to be waited for.
      member.is_gone = !member.has_io && means_gone(error) && process.pid != process_;
      if (!member.has_io && !member.is_gone) {
        is_known = is_known && process.pid != process_ && !ledger_.account(process.pid).finished.empty();
        unreadable_ = error != 0 ? std::string(std::strerror(error)) + ": " + path : "holds no numbers: " + path;
      }
    }
    for (const ProcessStat& process : tree_.processes()) {
      if (members_[process.pid].is_gone) {
        const auto parent = members_.find(process.parent);
        const bool has_heir = parent != members_.end() && !parent->second.is_gone;
        ledger_.retire(process.pid, has_heir ? process.parent : Ledger::unknown);
      }
    }
    for (auto member = members_.begin(); member != members_.end();) {
      if (member->second.has_io) {
        ledger_.take(ledger_.account(member->first), member->second.newest);
      }
      member = member->second.is_gone ? members_.erase(member) : std::next(member);
    }
    ledger_.settle();
    const Bytes total = ledger_.total();
    for (std::size_t i = 0; i < total.size(); ++i) {
      highest_[i] = std::max(highest_[i], total[i]);
      set(io_[i], is_known ? static_cast<double>(highest_[i]) : missing);
    }
  }

  std::uint64_t process_;
  bool counts_faults_;
  ProcessTree tree_;
  std::vector<char> buffer_;
  std::map<std::uint64_t, Member> members_;
  Ledger ledger_;
  Bytes highest_{};
  bool is_first_look_ = true;
  std::size_t faulty_threads_ = 0;  // with metrics, ended ones too
  std::uint64_t switch_count_ = 0;
  CounterRate switch_rate_;
  std::string unreadable_;
  std::size_t files_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::size_t switches_ = 0;
  std::array<std::size_t, transfers.size()> io_{};
};

}  // namespace

void make_process_activity_sensor(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<ProcessActivitySensor>(context));
}

}  // namespace kymo::sense
