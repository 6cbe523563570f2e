// The system functions of a WebAssembly program.
#include <cstdio>
#include <cstdlib>

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

// Neither pipes nor signals.
void write_to_stderr(std::string_view text) noexcept {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void send_again(int /*signal*/, siginfo_t& /*info*/) noexcept {}

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
