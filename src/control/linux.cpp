// libkymo's system functions on Linux: facts of the machine, process ends without destructors, the holder of spools,
// the sampler.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "base/text/escapes.hpp"
#include "control/control.hpp"
#include "control/platform.hpp"
#include "record/recorder/recorder.hpp"

#pragma weak kymo_start_sampling_v1
#pragma weak kymo_stop_sampling_v1
#pragma weak kymo_forget_sampling_v1
#pragma weak kymo_begin_states_v1
#pragma weak kymo_take_states_v2
#pragma weak kymo_forget_states_v1

namespace kymo::control {

namespace {

/// A small file's content without trailing newlines and zero bytes.
std::string trimmed_file(const char* path) {
  std::string content = base::read_small_file(path);
  content.erase(content.find_last_not_of(std::string_view("\n\0", 2)) + 1);
  return content;
}

std::string command_line() {
  std::string line = trimmed_file("/proc/self/cmdline");
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

/// The value behind "key : " in a file such as /proc/cpuinfo.
std::string field_of(const std::string& content, std::string_view key) {
  const std::size_t at = content.find(key);
  const std::size_t colon = at == std::string::npos ? at : content.find(':', at);
  if (colon == std::string::npos) {
    return {};
  }
  const std::size_t begin = content.find_first_not_of(" \t", colon + 1);
  const std::size_t end = content.find('\n', colon);
  return begin == std::string::npos || begin >= end ? std::string() : content.substr(begin, end - begin);
}

/// The GNU build id among the notes of a mapped module; empty if there is none.
std::string find_build_id(const unsigned char* notes, std::size_t size) {
  const auto padded = [](std::size_t value) { return (value + 3) / 4 * 4; };
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    __builtin_memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t descriptor = name + padded(note.n_namesz);
    if (descriptor + note.n_descsz > size) {
      break;
    }
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::string_view(reinterpret_cast<const char*>(notes + name), 3) == "GNU") {
      return base::to_hex(notes + descriptor, note.n_descsz);
    }
    at = descriptor + padded(note.n_descsz);
  }
  return {};
}

/// Of the executable, located by the kernel's program headers. The loader is not used: another thread may have held its
/// lock when this process was forked.
std::string build_id() {
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
  const unsigned long count = headers != nullptr ? ::getauxval(AT_PHNUM) : 0;
  std::uintptr_t load_base = 0;
  for (unsigned long i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) {
      load_base = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
    }
  }
  std::string id;
  for (unsigned long i = 0; i < count && id.empty(); ++i) {
    if (headers[i].p_type == PT_NOTE) {
      id = find_build_id(reinterpret_cast<const unsigned char*>(load_base + headers[i].p_vaddr), headers[i].p_memsz);
    }
  }
  return id;
}

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

/// Empty if zero, otherwise a number or "unknown".
std::string namespace_offset_ns() {
  const std::optional<std::int64_t> offset_ns = base::time_namespace_offset_ns();
  if (!offset_ns) {
    return "unknown";
  }
  return *offset_ns == 0 ? std::string() : std::to_string(*offset_ns);
}

}  // namespace

SystemFacts read_system_facts() {
  SystemFacts facts;
  facts.command_line = command_line();
  facts.executable = executable_path();
  facts.build_id = build_id();
  facts.cpu = field_of(base::read_small_file("/proc/cpuinfo"), "model name");
  facts.others = {{"cpu_governor", trimmed_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
                  {"clock.namespace_offset_ns", namespace_offset_ns()},
                  {"nvpmodel", trimmed_file("/var/lib/nvpmodel/status")}};
  return facts;
}

void Control::watch_process() {
  // quick_exit runs no destructors.
  std::at_quick_exit([] {
    instance().stop_sampling();
    record::Recorder::instance().shut_down();
  });
}

int connect_to_holder(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return -1;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(static_cast<void*>(address.sun_path), path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

SamplingEntry linked_sampling() noexcept {
  return {kymo_start_sampling_v1, kymo_stop_sampling_v1, kymo_forget_sampling_v1,
          kymo_begin_states_v1,   kymo_take_states_v2,   kymo_forget_states_v1};
}

}  // namespace kymo::control
