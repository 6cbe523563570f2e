// The memory of a process tree, where each page is divided by the number of processes that share it. The kernel visits
// all pages for this: some milliseconds per gigabyte.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/system/clock.hpp"
#include "sense/common/parse.hpp"
#include "sense/process/process_tree.hpp"

namespace kymo::sense {

namespace {

/// "Pss:   1234 kB" in kibibytes.
std::optional<std::uint64_t> parse_pss(std::string_view text) {
  auto line = behind_key(text, "Pss:");
  const std::optional<std::uint64_t> number = line ? line->number() : std::nullopt;
  return number && line->word() == "kB" ? number : std::nullopt;
}

class ProcessMemorySensor final : public Sensor {
 public:
  explicit ProcessMemorySensor(const SensorContext& context)
      : Sensor("process_memory", Tier::slow), tree_(context), buffer_(8 * 1024) {
    pss_ = add_metric(describe("process_pss", "B", "/proc/PID/smaps_rollup", MetricKind::gauge, 1024));
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
    const std::int64_t start_ns = base::monotonic_now_ns();
    std::optional<double> bytes;
    for (const ProcessStat& process : tree_.processes()) {
      if (process.is_ended()) {
        continue;
      }
      const std::string path = tree_.directory(process.pid) + "smaps_rollup";
      int error = 0;
      const std::optional<std::uint64_t> kibibytes = parse_pss(read_once(path, buffer_, error));
      if (kibibytes) {
        bytes = bytes.value_or(0) + static_cast<double>(*kibibytes) * 1024;
      } else if (!means_gone(error)) {
        set_unavailable(error != 0 ? std::string(std::strerror(error)) + ": " + path : "holds no number: " + path,
                        error == EACCES || error == EPERM ? "run as root" : "");
        return;
      }
    }
    if (bytes) {
      set(pss_, *bytes);
    }
    // The kernel visits all pages of the process under a lock that the process may need.
    constexpr std::int64_t most_share = 2000;
    next_look_ns_ = now_ns + std::max(tree_.look_period_ns(), most_share * (base::monotonic_now_ns() - start_ns));
    rest_until(next_look_ns_);
  }

 private:
  ProcessTree tree_;
  std::vector<char> buffer_;
  std::int64_t next_look_ns_ = 0;
  std::size_t pss_ = 0;
};

}  // namespace

void make_process_memory_sensor(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<ProcessMemorySensor>(context));
}

}  // namespace kymo::sense
