#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <mach/mach.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/system/clock.hpp"
#include "base/system/futex.hpp"
#include "base/system/system.hpp"

extern "C" {
int __ulock_wait(std::uint32_t operation, void* address, std::uint64_t value, std::uint32_t timeout_us);
int __ulock_wake(std::uint32_t operation, void* address, std::uint64_t value);
}

namespace kymo::base {

namespace {

// macOS's and LLVM's C++ libraries wait with these calls; the SDK has no header for them.
constexpr std::uint32_t compare_and_wait = 1;
constexpr std::uint32_t wake_all = 0x100;
constexpr std::uint32_t no_errno = 0x1000000;

void wait(void* word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  if (timeout_ns <= 0) {
    return;
  }
  // A timeout of zero would mean none. The longest that fits is over an hour; callers check again after each wait.
  const std::int64_t timeout_us = std::clamp<std::int64_t>((timeout_ns + 999) / 1000, 1, UINT32_MAX);
  ::__ulock_wait(compare_and_wait | no_errno, word, expected, static_cast<std::uint32_t>(timeout_us));
}

mach_task_basic_info_data_t task_info() noexcept {
  mach_task_basic_info_data_t info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (::task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) !=
      KERN_SUCCESS) {
    info = {};
  }
  return info;
}

}  // namespace

std::string boot_id() {
  std::array<char, 64> text{};
  std::size_t size = text.size() - 1;
  return ::sysctlbyname("kern.bootsessionuuid", text.data(), &size, nullptr, 0) == 0 ? std::string(text.data())
                                                                                     : std::string();
}

void send_again(int signal, siginfo_t& /*info*/) noexcept {
  ::raise(signal);
}

int sync_data(int file) noexcept {
  // fsync() leaves the data in the drive's cache. Not every file system supports F_FULLFSYNC.
  return ::fcntl(file, F_FULLFSYNC) == 0 ? 0 : ::fsync(file);
}

FileDescriptor open_unnamed(const std::string& directory) {
  std::string path = directory + "/.kymo-unnamed-XXXXXX";
  FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file) {
    ::unlink(path.c_str());
  }
  return file;
}

bool is_shared_by_machines(int file) noexcept {
  struct statfs system {};
  return ::fstatfs(file, &system) != 0 || (system.f_flags & MNT_LOCAL) == 0;
}

int rename_to_new(const char* from, const char* to) noexcept {
  return ::renamex_np(from, to, RENAME_EXCL);
}

std::uint64_t resident_bytes() noexcept {
  return task_info().resident_size;
}

std::uint64_t peak_resident_bytes() noexcept {
  return task_info().resident_size_max;
}

void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(name);
}

const char* trusted_variable(const char* name) noexcept {
  return ::issetugid() != 0 ? nullptr : std::getenv(name);
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  wait(&word, expected, timeout_ns);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::__ulock_wake(compare_and_wait | wake_all | no_errno, &word, 0);
}

void private_futex_wait(std::uint32_t* word, std::uint32_t expected) noexcept {
  wait(word, expected, 5'000'000);
}

void private_futex_wait_until(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept {
  wait(word, expected, deadline_ns - monotonic_now_ns());
}

void private_futex_wake_all(std::uint32_t* word) noexcept {
  ::__ulock_wake(compare_and_wait | wake_all | no_errno, word, 0);
}

}  // namespace kymo::base
