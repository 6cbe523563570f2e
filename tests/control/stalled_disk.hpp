// A disk that stalls, as the kernel shows it to a program: calls on the files of a folder do not return until they are
// let go.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harm_program.hpp"

/// Holds this process's writes to files below a folder, and their creation, inside the kernel. One per process: its
/// filter stays until the process ends. Forked children are not held.
class StalledDisk {
 public:
  /// Ends the program with 77 where the kernel has no such filters.
  explicit StalledDisk(std::string folder) : folder_(std::move(folder)) {
    require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const int call : {SYS_pwrite64, SYS_fallocate, SYS_ftruncate, SYS_fdatasync, SYS_openat}) {
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
      filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    listener_ = static_cast<int>(::syscall(
        SYS_seccomp, SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH, &program));
    if (listener_ < 0) {
      ::_exit(77);
    }
    std::thread([this] { answer(); }).detach();  // answers until the process ends
  }

  void stall() { is_stalled_.store(true); }
  void go_on() { is_stalled_.store(false); }
  /// A call is held.
  [[nodiscard]] bool is_holding() const { return is_holding_.load(); }

 private:
  void answer() {
    std::vector<std::uint64_t> held;
    for (;;) {
      pollfd request{listener_, POLLIN, 0};
      if (::poll(&request, 1, 1) == 1) {
        seccomp_notif call{};
        if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
          held.push_back(call.id);
          if (!is_stalled_.load() || !is_of_folder(call)) {
            let_go(held.back());
            held.pop_back();
          }
        }
      }
      if (!is_stalled_.load()) {
        for (const std::uint64_t id : held) {
          let_go(id);
        }
        held.clear();
      }
      is_holding_.store(!held.empty());
    }
  }

  void let_go(std::uint64_t id) const {
    seccomp_notif_resp response{};
    response.id = id;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }

  [[nodiscard]] bool is_of_folder(const seccomp_notif& call) const {
    const std::string task = "/proc/self/task/" + std::to_string(call.pid);
    if (::access(task.c_str(), F_OK) != 0) {
      return false;  // a child's
    }
    if (call.data.nr == SYS_openat) {
      return std::string(reinterpret_cast<const char*>(call.data.args[1])).rfind(folder_, 0) == 0;
    }
    char path[4096];
    const ssize_t length =
        ::readlink(("/proc/self/fd/" + std::to_string(call.data.args[0])).c_str(), path, sizeof path);
    return length > 0 && std::string(path, static_cast<std::size_t>(length)).rfind(folder_, 0) == 0;
  }

  std::string folder_;
  int listener_ = -1;
  std::atomic<bool> is_stalled_{false};
  std::atomic<bool> is_holding_{false};
};
