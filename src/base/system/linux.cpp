#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/system/futex.hpp"
#include "base/system/system.hpp"

namespace kymo::base {

namespace {

constexpr timespec to_timespec(std::int64_t time_ns) {
  return {static_cast<time_t>(time_ns / 1'000'000'000), static_cast<long>(time_ns % 1'000'000'000)};
}

struct flock write_lock_of(std::uint64_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

/// The first bytes of a file as a text; without an allocation.
template <std::size_t size>
std::array<char, size> text_in(const char* path) {
  const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, size> text{};
  static_cast<void>(file && ::read(file.get(), text.data(), text.size() - 1) >= 0);
  return text;
}

/// What /proc/PID/stat says from a field on, the third or later, behind a space; empty if it cannot be read.
std::string stat_from(std::uint64_t pid, int wanted) {
  // Field 2 is a name in parentheses with arbitrary content, so parsing starts behind its last parenthesis.
  const std::string stat = read_small_file("/proc/" + (pid == 0 ? "self" : std::to_string(pid)) + "/stat");
  std::size_t at = stat.rfind(')');
  for (int field = 2; field < wanted && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  return at == std::string::npos ? std::string() : stat.substr(at);
}

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The files of a version of control groups.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* inactive;  ///< key in memory.stat: file pages that the kernel takes back before it runs out of memory
};
constexpr GroupFiles unified_files{"/memory.max", "/memory.current", "\ninactive_file "};
constexpr GroupFiles legacy_files{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "\ntotal_inactive_file "};

/// The number at the start of a text; `otherwise` if there is none, as in "max".
std::uint64_t number_in(std::string_view text, std::uint64_t otherwise) {
  std::uint64_t number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc() ? number : otherwise;
}

std::uint64_t room_in(const std::string& group, const GroupFiles& files) {
  const std::uint64_t limit = number_in(read_small_file(group + files.limit), unlimited);
  if (limit == unlimited) {
    return unlimited;
  }
  const std::uint64_t usage = number_in(read_small_file(group + files.usage), 0);
  const std::string_view key = files.inactive;
  const std::string stat = "\n" + read_small_file(group + "/memory.stat");
  const std::size_t at = stat.find(key);
  const std::uint64_t inactive =
      at == std::string::npos ? 0 : number_in(std::string_view(stat).substr(at + key.size()), 0);
  const std::uint64_t used = usage - std::min(usage, inactive);
  return limit - std::min(limit, used);
}

/// The least room of a group and of those around it. In a container, the path may be one that only its host has: then
/// the topmost directory is that of the container's group.
std::uint64_t room_in_all(const std::string& mount, std::string path, const GroupFiles& files) {
  std::uint64_t room = unlimited;
  for (;;) {
    while (!path.empty() && path.back() == '/') {
      path.pop_back();
    }
    room = std::min(room, room_in(mount + path, files));
    if (path.empty()) {
      return room;
    }
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
}

bool is_listed(std::string_view names, std::string_view name) {
  return ("," + std::string(names) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

}  // namespace

std::string boot_id() {
  std::string id = read_small_file("/proc/sys/kernel/random/boot_id");
  id.erase(id.find_last_not_of('\n') + 1);
  return id;
}

std::optional<std::int64_t> time_namespace_offset_ns() {
  // The same number in every kernel.
  constexpr ino_t first_namespace = 0xEFFFFFFA;
  struct stat own {};
  struct stat of_children {};
  if (::stat("/proc/self/ns/time", &own) != 0 || ::stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
      own.st_ino == first_namespace) {
    return 0;
  }
  // The kernel shows the offsets that apply to children.
  long long seconds = 0;
  long long nanoseconds = 0;
  const std::string offsets = read_small_file("/proc/self/timens_offsets");
  if (own.st_ino != of_children.st_ino ||
      std::sscanf(offsets.c_str(), "monotonic %lld %lld", &seconds, &nanoseconds) != 2) {
    return std::nullopt;
  }
  return seconds * 1'000'000'000 + nanoseconds;
}

std::uint64_t process_start(std::uint64_t pid) {
  return std::strtoull(stat_from(pid, 22).c_str(), nullptr, 10);
}

bool is_process(std::uint64_t pid) {
  if (pid == 0 || pid > 0x7FFFFFFF || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)) {
    return false;
  }
  // The first thread of a process may end before the others.
  return !stat_from(pid, 3).starts_with(" Z") || std::strtoull(stat_from(pid, 20).c_str(), nullptr, 10) > 1;
}

std::uint64_t pid_namespace() noexcept {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

void send_again(int signal, siginfo_t& info) noexcept {
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), signal, &info) != 0) {
    ::raise(signal);
  }
}

int reserve_space(int file, std::uint64_t from, std::uint64_t bytes) noexcept {
  return ::fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

std::uint64_t control_group_room(const std::string& membership, const std::string& mount) {
  std::uint64_t room = unlimited;
  const std::string content = read_small_file(membership);
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) {
      room = std::min(room, room_in_all(mount, path, unified_files));
    } else if (is_listed(controllers, "memory")) {
      room = std::min(room, room_in_all(mount + "/memory", path, legacy_files));
    }
  }
  return room;
}

std::uint64_t spare_memory() {
  const std::string content = read_small_file("/proc/meminfo");
  const std::string_view key = "MemAvailable:";
  const std::size_t at = content.find(key);
  const std::size_t digits = at == std::string::npos ? at : content.find_first_not_of(' ', at + key.size());
  const std::uint64_t available_kb =
      digits == std::string::npos ? unlimited : number_in(std::string_view(content).substr(digits), unlimited);
  const std::uint64_t available = available_kb > unlimited / 1024 ? unlimited : available_kb * 1024;
  const std::uint64_t room = std::min(available, control_group_room("/proc/self/cgroup", "/sys/fs/cgroup"));
  return room == unlimited ? room : room / 2;
}

std::uint64_t spare_room(const std::string& directory) {
  struct statfs file_system {};
  if (::statfs(directory.c_str(), &file_system) != 0 || file_system.f_type != TMPFS_MAGIC) {
    return 0;
  }
  return static_cast<std::uint64_t>(file_system.f_bavail) * static_cast<std::uint64_t>(file_system.f_bsize) / 2;
}

int sync_data(int file) noexcept {
  return ::fdatasync(file);
}

FileDescriptor open_unnamed(const std::string& directory) {
  FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) {
    return file;
  }
  // Not every file system supports files without names.
  std::string path = directory + "/.kymo-unnamed-XXXXXX";
  file = FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
  if (file) {
    ::unlink(path.c_str());
  }
  return file;
}

LockOutcome lock_byte(int file, std::uint64_t byte, bool waits) noexcept {
  struct flock lock = write_lock_of(byte);
  while (::fcntl(file, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock) != 0) {
    if (errno != EINTR) {
      return errno == EAGAIN || errno == EACCES ? LockOutcome::refused : LockOutcome::unsupported;
    }
  }
  return LockOutcome::taken;
}

std::optional<int> lock_holder(int file, std::uint64_t byte) noexcept {
  struct flock lock = write_lock_of(byte);
  if (::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  return static_cast<int>(lock.l_pid);
}

void share_byte(int file, std::uint64_t byte, bool is_locked) noexcept {
  struct flock lock = write_lock_of(byte);
  lock.l_type = is_locked ? F_RDLCK : F_UNLCK;
  static_cast<void>(::fcntl(file, F_OFD_SETLK, &lock));
}

std::optional<bool> is_locked(int file, std::uint64_t byte) noexcept {
  struct flock lock = write_lock_of(byte);
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 ? std::optional(lock.l_type != F_UNLCK) : std::nullopt;
}

bool is_shared_by_machines(int file) noexcept {
  struct statfs system {};
  if (::fstatfs(file, &system) != 0) {
    return true;
  }
  switch (static_cast<std::uint32_t>(system.f_type)) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFE534D42:  // SMB2
    case 0xFF534D42:  // CIFS
    case 0x01021997:  // 9P
    case 0x65735546:  // FUSE
    case 0x00C36400:  // Ceph
    case 0x5346414F:  // AFS
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
      return true;
    default:
      return false;
  }
}

int rename_to_new(const char* from, const char* to) noexcept {
  constexpr unsigned replaces_nothing = 1;
  const long result = ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, replaces_nothing);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) {
    return static_cast<int>(result);
  }
  // Not every file system supports it; link(2) never replaces a file either.
  return ::link(from, to) == 0 ? ::unlink(from) : -1;
}

std::uint64_t resident_bytes() noexcept {
  // Opened on every call: after a fork, a kept descriptor of /proc/self would still describe the parent.
  const auto text = text_in<128>("/proc/self/statm");
  const char* const second_field = std::strchr(text.data(), ' ');
  static const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return second_field == nullptr ? 0
                                 : std::strtoull(second_field, nullptr, 10) * static_cast<std::uint64_t>(page_bytes);
}

std::uint64_t peak_resident_bytes() noexcept {
  const auto text = text_in<8192>("/proc/self/status");
  if (const char* const line = std::strstr(text.data(), "\nVmHWM:")) {
    return std::strtoull(line + 7, nullptr, 10) * 1024;
  }
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

bool are_other_threads_gone() {
  const std::string tasks = "/proc/self/task/";
  const std::string main_thread = std::to_string(::getpid());
  const std::string status = read_small_file(tasks + main_thread + "/stat");
  // The name before the state may hold anything.
  const std::size_t name_end = status.rfind(')');
  if (name_end == std::string::npos || status.compare(name_end, 3, ") Z") != 0) {
    return false;
  }
  DIR* const listing = ::opendir(tasks.c_str());
  bool are_gone = listing != nullptr;
  while (const dirent* const entry = are_gone ? ::readdir(listing) : nullptr) {
    const std::string id = static_cast<const char*>(entry->d_name);
    const bool is_other = id[0] != '.' && id != main_thread;
    are_gone = !is_other || read_small_file(tasks + id + "/comm").compare(0, 5, "kymo-") == 0;
  }
  if (listing != nullptr) {
    ::closedir(listing);
  }
  return are_gone;
}

const char* trusted_variable(const char* name) noexcept {
  return ::secure_getenv(name);
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  const timespec timeout = to_timespec(timeout_ns);
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void private_futex_wait(std::uint32_t* word, std::uint32_t expected) noexcept {
  const int saved_errno = errno;
  constexpr timespec longest{0, 5'000'000};
  ::syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, &longest, nullptr, 0U);
  errno = saved_errno;
}

void private_futex_wait_until(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept {
  const timespec deadline = to_timespec(deadline_ns);
  ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, &deadline, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void private_futex_wake_all(std::uint32_t* word) noexcept {
  const int saved_errno = errno;
  ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr, 0U);
  errno = saved_errno;
}

}  // namespace kymo::base
