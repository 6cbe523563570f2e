// The files of a WebAssembly program are private to it: no other process locks or fills them.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <emscripten/heap.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/system/futex.hpp"
#include "base/system/system.hpp"

namespace kymo::base {

std::string boot_id() {
  return {};
}

std::uint64_t process_start(std::uint64_t /*pid*/) {
  return 0;
}

void send_again(int /*signal*/, siginfo_t& /*info*/) noexcept {}

int reserve_space(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*bytes*/) noexcept {
  return EOPNOTSUPP;
}

std::uint64_t spare_memory() {
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t spare_room(const std::string& /*directory*/) {
  return 0;
}

int sync_data(int file) noexcept {
  return ::fdatasync(file);
}

FileDescriptor open_unnamed(const std::string& directory) {
  std::string path = directory + "/.kymo-unnamed-XXXXXX";
  FileDescriptor file(::mkstemp(path.data()));
  if (file) {
    ::unlink(path.c_str());
  }
  return file;
}

LockOutcome lock_byte(int /*file*/, std::uint64_t /*byte*/, bool /*waits*/) noexcept {
  return LockOutcome::unsupported;
}

std::optional<int> lock_holder(int /*file*/, std::uint64_t /*byte*/) noexcept {
  return std::nullopt;
}

bool is_shared_by_machines(int /*file*/) noexcept {
  return false;
}

int rename_to_new(const char* from, const char* to) noexcept {
  return std::rename(from, to);
}

// WebAssembly's memory is the whole of the program's memory and never shrinks.
std::uint64_t resident_bytes() noexcept {
  return ::emscripten_get_heap_size();
}

std::uint64_t peak_resident_bytes() noexcept {
  return ::emscripten_get_heap_size();
}

void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

const char* trusted_variable(const char* /*name*/) noexcept {
  return nullptr;
}

void futex_wait(std::atomic<std::uint32_t>& /*word*/, std::uint32_t /*expected*/,
                std::int64_t /*timeout_ns*/) noexcept {}

void futex_wake_all(std::atomic<std::uint32_t>& /*word*/) noexcept {}

void private_futex_wait(std::uint32_t* /*word*/, std::uint32_t /*expected*/) noexcept {}

void private_futex_wait_until(std::uint32_t* /*word*/, std::uint32_t /*expected*/,
                              std::int64_t /*deadline_ns*/) noexcept {}

void private_futex_wake_all(std::uint32_t* /*word*/) noexcept {}

}  // namespace kymo::base
