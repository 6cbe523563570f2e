#include <cerrno>
#include <csignal>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/thread_facts.hpp"

namespace kymo::record {

std::uint64_t os_thread_id() noexcept {
  return static_cast<std::uint64_t>(::syscall(SYS_gettid));
}

bool has_thread_ended(std::uint64_t id) noexcept {
  return ::syscall(SYS_tgkill, ::getpid(), static_cast<pid_t>(id), 0) != 0 && errno == ESRCH;
}

void read_thread_name(char (&name)[17]) noexcept {
  ::prctl(PR_GET_NAME, static_cast<char*>(name));
}

bool blocks_signals() noexcept {
  std::uint64_t blocked = 0;
  return ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof blocked) != 0 || blocked != 0;
}

}  // namespace kymo::record
