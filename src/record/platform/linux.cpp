#include "record/platform/platform.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

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

std::uint64_t change_signal_mask(int how, const std::uint64_t* signals) noexcept {
  // By two signals the C library cancels threads and sets their ids.
  constexpr std::uint64_t of_the_library = std::uint64_t{3} << 31U;
  const std::uint64_t changed = signals != nullptr ? *signals & ~of_the_library : 0;
  std::uint64_t before = 0;
  const bool is_done =
      ::syscall(SYS_rt_sigprocmask, how, signals != nullptr ? &changed : nullptr, &before, sizeof before) == 0;
  return is_done ? before : ~std::uint64_t{0};
}

/// Claims a name in the abstract socket namespace that only this process image can hold: a second copy of the recorder
/// finds it taken. Nothing listens on it. Released when the process ends or calls exec.
bool claim_process(base::KnownFile& claim) noexcept {
  std::uint64_t image[2] = {};
  if (const auto* const random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM))) {
    std::memcpy(static_cast<void*>(image), random, sizeof image);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A hash instead of the bytes themselves, which the C library uses for its stack guards.
  const std::uint64_t hash = (image[0] * 0x9E3779B97F4A7C15U) ^ (image[1] * 0xE7037ED1A0B428DBU);
  const int size = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "kymo-recorder-%ld-%016llx",
                                 static_cast<long>(::getpid()), static_cast<unsigned long long>(hash ^ (hash >> 29U)));
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return true;  // a sandbox without sockets: copies cannot be told apart
  }
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(size));
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == EADDRINUSE) {
    ::close(socket);
    return false;
  }
  claim = base::KnownFile(base::move_high(base::FileDescriptor(socket)));
  return true;
}

bool is_in_own_namespace() noexcept {
#ifdef LM_ID_BASE
  static const char here = 0;
  Dl_info info{};
  void* object = nullptr;
  Lmid_t space = LM_ID_BASE;
  // What dlopen() returns is the object's link_map.
  return ::dladdr1(&here, &info, &object, RTLD_DL_LINKMAP) != 0 && object != nullptr &&
         ::dlinfo(object, RTLD_DI_LMID, &space) == 0 && space != LM_ID_BASE;
#else
  return false;  // only glibc has dlmopen()
#endif
}

}  // namespace kymo::record
