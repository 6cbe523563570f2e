#include <csignal>

#include <pthread.h>

#include "record/thread_facts.hpp"

namespace kymo::record {

std::uint64_t os_thread_id() noexcept {
  std::uint64_t id = 0;
  ::pthread_threadid_np(nullptr, &id);
  return id;
}

bool has_thread_ended(std::uint64_t /*id*/) noexcept {
  return false;
}

void read_thread_name(char (&name)[17]) noexcept {
  name[0] = '\0';
  ::pthread_getname_np(::pthread_self(), static_cast<char*>(name), sizeof name);
}

bool blocks_signals() noexcept {
  sigset_t blocked = 0;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0 || blocked != 0;
}

}  // namespace kymo::record
