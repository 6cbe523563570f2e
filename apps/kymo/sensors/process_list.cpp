#include "apps/kymo/sensors/process_list.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/system/clock.hpp"
#include "base/system/file.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/gpu/nvml_extra_calls.hpp"
#include "sense/gpu/nvml_library.hpp"

namespace kymo::command {

namespace {

/// The fields of /proc/PID/stat that are shown.
struct ProcessStat {
  std::string name;
  std::uint64_t ticks = 0;
  std::uint64_t start = 0;
  std::uint64_t resident_pages = 0;
};

std::optional<ProcessStat> read_stat(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> bytes{};
  const ssize_t size = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  if (size <= 0) {
    return std::nullopt;
  }
  const std::string_view text(bytes.data(), static_cast<std::size_t>(size));
  // The name may have blanks and parentheses of its own.
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::nullopt;
  }
  ProcessStat stat;
  stat.name = text.substr(begin + 1, end - begin - 1);
  sense::TextCursor fields(text.substr(end + 1));
  for (int field = 3; field <= 24; ++field) {
    const std::string_view word = fields.word();
    std::uint64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    stat.ticks += field == 14 || field == 15 ? number : 0;
    stat.start = field == 22 ? number : stat.start;
    stat.resident_pages = field == 24 ? number : stat.resident_pages;
  }
  return stat;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

ProcessList::ProcessList(const std::string& root)
    : directory_(root + (root.empty() || root.back() != '/' ? "/" : "") + "proc/") {}

std::string ProcessList::name_of(std::uint64_t pid) const {
  const auto stat = read_stat(directory_ + std::to_string(pid) + "/stat");
  return stat ? stat->name : std::string();
}

std::vector<TopProcess> ProcessList::look(std::size_t most) {
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(directory_.c_str()));
  const std::int64_t now_ns = base::monotonic_now_ns();
  const double ticks = static_cast<double>(now_ns - seen_ns_) / 1e9 * static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<TopProcess> processes;
  std::map<std::uint64_t, Seen> seen;
  while (const dirent* const entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    std::uint64_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) {
      continue;
    }
    auto stat = read_stat(directory_ + std::string(name) + "/stat");
    if (!stat) {
      continue;
    }
    seen[pid] = {stat->ticks, stat->start};
    const auto before = seen_.find(pid);
    const bool is_known = before != seen_.end() && before->second.start == stat->start;
    const std::uint64_t since = is_known ? before->second.ticks : 0;
    if (seen_ns_ != 0 && stat->ticks >= since && ticks > 0) {
      processes.push_back({pid, std::move(stat->name), static_cast<double>(stat->ticks - since) / ticks * 100,
                           stat->resident_pages * page_bytes});
    }
  }
  seen_ = std::move(seen);
  seen_ns_ = now_ns;
  std::stable_sort(processes.begin(), processes.end(), [](const TopProcess& a, const TopProcess& b) {
    return std::pair(a.cpu_percent, a.resident_bytes) > std::pair(b.cpu_percent, b.resident_bytes);
  });
  processes.resize(std::min(processes.size(), most));
  return processes;
}

GpuProcessList::GpuProcessList(std::string_view library) {
  std::string why;
  std::string advice;
  library_ = sense::NvmlLibrary::open(std::string(library), why, advice);
}

std::vector<TopGpuProcess> GpuProcessList::look(const ProcessList& names) const {
  constexpr unsigned most_gpus = 256;
  constexpr unsigned most_processes = 1024;
  std::vector<TopGpuProcess> found;
  unsigned gpus = 0;
  if (library_ == nullptr || library_->get_count(&gpus) != sense::NvmlReturn::success) {
    return found;
  }
  std::vector<sense::NvmlProcess> listed(most_processes);
  for (unsigned gpu = 0; gpu < std::min(gpus, most_gpus); ++gpu) {
    sense::NvmlDevice device{};
    if (library_->get_handle(gpu, &device) != sense::NvmlReturn::success) {
      continue;
    }
    std::map<std::uint64_t, double> shares;
    const bool has_shares = sense::read_process_shares(*library_, device, shares) == sense::NvmlReturn::success;
    for (const auto function : {library_->get_compute_processes, library_->get_graphics_processes}) {
      unsigned count = most_processes;
      if (function == nullptr || function(device, &count, listed.data()) != sense::NvmlReturn::success) {
        continue;
      }
      for (unsigned i = 0; i < std::min(count, most_processes); ++i) {
        // A process that computes and draws is in both lists, each time with all that it uses.
        const auto is_same = [&](const TopGpuProcess& one) { return one.gpu == gpu && one.pid == listed[i].pid; };
        if (std::none_of(found.begin(), found.end(), is_same)) {
          const bool is_known = listed[i].used_memory != sense::NvmlProcess::memory_unknown;
          // One that the driver has not sampled was idle.
          const auto share = has_shares ? std::optional(shares[listed[i].pid]) : std::nullopt;
          found.push_back({gpu, listed[i].pid, names.name_of(listed[i].pid), is_known ? listed[i].used_memory : 0,
                           is_known, share});
        }
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const TopGpuProcess& a, const TopGpuProcess& b) {
    return a.gpu != b.gpu ? a.gpu < b.gpu : a.bytes > b.bytes;
  });
  return found;
}

}  // namespace kymo::command
