#include <cerrno>

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

}  // namespace kymo::record
