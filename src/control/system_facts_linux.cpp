// What Linux says about this process and the machine.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "control/system_facts.hpp"

namespace kymo::control {

namespace {

/// Its number is the same in every kernel.
constexpr ino_t first_time_namespace = 0xEFFFFFFA;

/// A small file's content without what ends its last line, or its last word.
std::string trimmed_file(const char* path) {
  std::string content = base::read_small_file(path);
  while (!content.empty() && (content.back() == '\n' || content.back() == '\0')) {
    content.pop_back();
  }
  return content;
}

std::string command_line() {
  std::string line = trimmed_file("/proc/self/cmdline");
  for (char& character : line) {
    character = character == '\0' ? ' ' : character;
  }
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

/// The GNU build id among the notes of a mapped module; empty when there is none.
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
      return to_hex(notes + descriptor, note.n_descsz);
    }
    at = descriptor + padded(note.n_descsz);
  }
  return {};
}

/// The executable is the first module that the loader lists.
int take_build_id(dl_phdr_info* module, std::size_t /*size*/, void* into) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type == PT_NOTE && static_cast<std::string*>(into)->empty()) {
      *static_cast<std::string*>(into) =
          find_build_id(reinterpret_cast<const unsigned char*>(module->dlpi_addr + header.p_vaddr), header.p_memsz);
    }
  }
  return 1;
}

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

/// What this process's time namespace adds to CLOCK_MONOTONIC: empty where that is nothing, else a number, or
/// "unknown".
std::string namespace_offset_ns() {
  struct stat own {};
  struct stat of_children {};
  if (::stat("/proc/self/ns/time", &own) != 0 || ::stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
      own.st_ino == first_time_namespace) {
    return {};
  }
  // The offsets that the kernel shows are those of the children's.
  long long seconds = 0;
  long long nanoseconds = 0;
  const std::string offsets = base::read_small_file("/proc/self/timens_offsets");
  if (own.st_ino != of_children.st_ino ||
      std::sscanf(offsets.c_str(), "monotonic %lld %lld", &seconds, &nanoseconds) != 2) {
    return "unknown";
  }
  const long long offset_ns = seconds * 1'000'000'000 + nanoseconds;
  return offset_ns == 0 ? std::string() : std::to_string(offset_ns);
}

}  // namespace

SystemFacts read_system_facts() {
  SystemFacts facts;
  facts.command_line = command_line();
  facts.executable = executable_path();
  ::dl_iterate_phdr(take_build_id, &facts.build_id);
  facts.cpu = field_of(base::read_small_file("/proc/cpuinfo"), "model name");
  facts.others = {{"cpu_governor", trimmed_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
                  {"clock.namespace_offset_ns", namespace_offset_ns()},
                  {"nvpmodel", trimmed_file("/var/lib/nvpmodel/status")}};
  return facts;
}

}  // namespace kymo::control
