// kymo trigger: makes a flight recorder write its history.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "record/pool/spool_layout.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;
using record::SpoolHeader;

struct TriggerOptions {
  int pid = 0;
  double timeout_s = 10;
  bool is_json = false;
};

/// Whether a process locks a spool or still maps it after closing all its descriptors. A spool of an earlier process
/// with that number has no owner.
bool is_owner(int file, std::uint64_t pid) {
  const std::optional<int> holder = base::lock_holder(file, 0);
  struct stat status {};
  if (holder || ::fstat(file, &status) != 0) {
    return holder == static_cast<int>(pid);
  }
  // "... major:minor inode path"
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  const std::string inode = fmt::format(" {} ", status.st_ino);
  for (std::string line; std::getline(maps, line);) {
    if (line.find(inode) != std::string::npos && line.find("kymo-") != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// The header of another process's spool.
class MappedSpool {
 public:
  /// Maps the file's header if it is a spool of that process; returns nothing otherwise. Anyone may put a file of that
  /// name into shared memory.
  static std::optional<MappedSpool> map(const std::string& path, std::uint64_t pid) {
    const base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    struct stat owner {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        ::stat(fmt::format("/proc/{}", pid).c_str(), &owner) != 0 || owner.st_uid != status.st_uid ||
        status.st_size < static_cast<off_t>(sizeof(SpoolHeader)) || !is_owner(file.get(), pid)) {
      return std::nullopt;
    }
    void* const mapping = ::mmap(nullptr, sizeof(SpoolHeader), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (mapping == MAP_FAILED) {
      return std::nullopt;
    }
    MappedSpool spool(static_cast<SpoolHeader*>(mapping));
    const SpoolHeader& header = spool.header();
    if (header.magic != record::spool_magic || header.version != record::spool_version || header.owner_pid != pid ||
        header.is_saved.load() != 0) {
      return std::nullopt;
    }
    return spool;
  }
  MappedSpool(MappedSpool&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  MappedSpool& operator=(MappedSpool&&) = delete;
  MappedSpool(const MappedSpool&) = delete;
  MappedSpool& operator=(const MappedSpool&) = delete;
  ~MappedSpool() {
    if (header_ != nullptr) {
      ::munmap(static_cast<void*>(header_), sizeof(SpoolHeader));
    }
  }

  [[nodiscard]] SpoolHeader& header() const { return *header_; }
  [[nodiscard]] std::string capture_path() const {
    const char* const path = static_cast<const char*>(header_->capture_path);
    return {path, ::strnlen(path, sizeof header_->capture_path)};
  }

 private:
  explicit MappedSpool(SpoolHeader* header) : header_(header) {}
  SpoolHeader* header_;
};

/// The spool of a process: a file in shared memory, or a memory file that the process holds open.
std::optional<MappedSpool> find_spool_of(std::uint64_t pid) {
  std::error_code error;
  const std::string prefix = fmt::format("kymo-{}-", pid);
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0 && entry.path().extension() == ".spool") {
      if (auto spool = MappedSpool::map(entry.path().string(), pid)) {
        return spool;
      }
    }
  }
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    std::error_code ignored;
    if (fs::read_symlink(entry.path(), ignored).string().find("memfd:kymo-spool") != std::string::npos) {
      if (auto spool = MappedSpool::map(entry.path().string(), pid)) {
        return spool;
      }
    }
  }
  return std::nullopt;
}

std::uint32_t* futex_word(std::atomic<std::uint32_t>& word) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(&word);
}

/// Sends a request and waits. Returns false at the deadline.
bool request(SpoolHeader& header, std::chrono::steady_clock::time_point deadline) {
  const std::uint32_t number = header.trigger_requests.fetch_add(1) + 1;
  header.wake.fetch_add(1);
  ::syscall(SYS_futex, futex_word(header.wake), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  for (;;) {
    const std::uint32_t done = header.trigger_done.load();
    if (static_cast<std::int32_t>(done - number) >= 0) {
      return true;
    }
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) {
      return false;
    }
    // Wakes up regularly, because the process may die without waking anyone.
    const auto pause = std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(200));
    const timespec timeout{0, static_cast<long>(pause.count())};
    ::syscall(SYS_futex, futex_word(header.trigger_done), FUTEX_WAIT, done, &timeout, nullptr, 0);
    if (::kill(static_cast<pid_t>(header.owner_pid), 0) != 0 && errno == ESRCH) {
      return false;
    }
  }
}

int run(const TriggerOptions& options) {
  if (::kill(options.pid, 0) != 0 && errno == ESRCH) {
    throw Failure(fmt::format("there is no process {}", options.pid));
  }
  const auto spool = find_spool_of(static_cast<std::uint64_t>(options.pid));
  if (!spool) {
    throw Failure(
        fmt::format("process {} does not record with kymo, or is another user's, or its events are in private "
                    "memory (it said so when it started)",
                    options.pid));
  }
  const auto timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(options.timeout_s * 1e9));
  if (!request(spool->header(), std::chrono::steady_clock::now() + timeout)) {
    throw Failure(fmt::format("process {} did not answer within {}; it may be stopped", options.pid,
                              format_duration(static_cast<double>(timeout.count()))));
  }
  const std::string path = spool->capture_path();
  if (options.is_json) {
    print_json({{"pid", options.pid}, {"capture", path}});
  } else if (path.empty()) {
    fmt::print("process {} handed everything recorded so far to its sinks; it writes no capture\n", options.pid);
  } else {
    fmt::print("process {} wrote what it holds to {}\n", options.pid, printable(path));
  }
  return to_int(ExitCode::ok);
}

}  // namespace

void add_trigger_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<TriggerOptions>();
  CLI::App* const command =
      app.add_subcommand("trigger", "Has a process that records with KYMO_KEEP write the last stretch to its capture");
  command->add_option("PID", options->pid, "The process")->required()->check(is_between(1, INT_MAX));
  command->add_option("--timeout", options->timeout_s, "Seconds to wait for its answer (10)")
      ->check(is_between(0.0, 3600.0))
      ->option_text("SECONDS");
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  KYMO_KEEP=30s,64MB KYMO_RECORD=robot.kymo ./robot &\n"
      "  kymo trigger $!\n"
      "  kymo trigger --timeout 60 1234");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
