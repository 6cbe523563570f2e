#include "record/platform/platform.hpp"

#include <cstring>

#include <emscripten/emscripten.h>

EM_JS(int, kymo_is_in_worker, (void), { return typeof WorkerGlobalScope != 'undefined' ? 1 : 0; });

namespace kymo::record {

std::uint64_t os_thread_id() noexcept {
  return 1;
}

bool has_thread_ended(std::uint64_t /*id*/) noexcept {
  return false;
}

void read_thread_name(char (&name)[17]) noexcept {
  std::strcpy(static_cast<char*>(name), kymo_is_in_worker() != 0 ? "worker" : "main");
}

// There are no signals. Only a sink can find a write in progress, because the write itself called it.
std::uint64_t blocked_signals() noexcept {
  return 1;
}

void hold_signals() noexcept {}

void release_signals() noexcept {}

bool claim_process(base::KnownFile& /*claim*/) noexcept {
  return true;
}

bool is_in_own_namespace() noexcept {
  return false;
}

}  // namespace kymo::record
