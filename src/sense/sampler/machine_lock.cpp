#include "sense/sampler/machine_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "sense/common/device_files.hpp"

namespace kymo::sense {

namespace {

// Record locks do not separate two objects of one process, and closing any descriptor of the file releases them.
// Atomics instead of a mutex, because a fork might leave a mutex locked in the child.
constinit std::atomic<pid_t> holder_process{0};  // the process whose object holds the lock or is acquiring it
constinit std::atomic<const MachineLock*> holder_object{nullptr};

struct flock write_lock(off_t place) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::optional<MachineMode> parse_machine_mode(std::string_view name) {
  if (name == "own") {
    return MachineMode::own;
  }
  if (name == "shared") {
    return MachineMode::shared;
  }
  return name == "off" ? std::optional(MachineMode::off) : std::nullopt;
}

MachineMode machine_mode() {
  const char* const value = base::trusted_variable("KYMO_MACHINE");
  if (value == nullptr || *value == '\0') {
    return MachineMode::recording;
  }
  const std::optional<MachineMode> mode = parse_machine_mode(value);
  if (!mode) {
    static base::SayOnce say_not_understood;
    say_not_understood("KYMO_MACHINE is not understood (expected own, shared or off); the default is used");
  }
  return mode.value_or(MachineMode::recording);
}

std::string recording_group() {
  for (const char* const name : {"KYMO_RECORD", "KYMO_TRACE"}) {
    if (const char* const value = base::trusted_variable(name); value != nullptr && *value != '\0') {
      std::error_code ignored;
      return (std::filesystem::current_path(ignored) / value).string();
    }
  }
  return {};
}

MachineLock::MachineLock(std::string_view root, std::string_view group) {
  path_ = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  path_ += "/kymo-sampler-" + std::to_string(::getuid());
  const std::string base = without_end_slash(root);
  constexpr std::size_t places = std::size_t{1} << 30U;
  if (!base.empty() || !group.empty()) {
    place_ = static_cast<off_t>(1 + std::hash<std::string>()(base + '\n' + std::string(group)) % places);
  }
}

bool MachineLock::open() {
  file_ = base::KnownFile(base::open_high(path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  struct stat status {};
  if (file_ && (::fstat(file_.number(), &status) != 0 || status.st_uid != ::getuid() || !S_ISREG(status.st_mode))) {
    file_.reset();
  }
  return static_cast<bool>(file_);
}

bool MachineLock::try_acquire() {
  const pid_t self = ::getpid();
  pid_t holder = holder_process.load(std::memory_order_acquire);
  if (holder == self || !holder_process.compare_exchange_strong(holder, self, std::memory_order_acq_rel)) {
    return holder_process.load(std::memory_order_acquire) == self && holder_object == this;
  }
  struct flock lock = write_lock(place_);
  if (open() && ::fcntl(file_.number(), F_SETLK, &lock) != 0) {
    file_.reset();
    holder_object = nullptr;
    holder_process.store(0, std::memory_order_release);
    return false;
  }
  holder_object = this;
  return true;
}

void MachineLock::release() {
  const bool is_holder = holder_object == this && holder_process.load(std::memory_order_acquire) == ::getpid();
  file_.reset();
  if (is_holder) {
    holder_object = nullptr;
    holder_process.store(0, std::memory_order_release);
  }
}

pid_t MachineLock::holder() const {
  if (holder_process.load(std::memory_order_acquire) == ::getpid()) {
    return 0;
  }
  const base::FileDescriptor file(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock = write_lock(place_);
  if (!file || ::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
    return 0;
  }
  return lock.l_pid;
}

}  // namespace kymo::sense
