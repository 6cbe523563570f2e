// What Linux says about this process and the machine.
#include <array>
#include <cstdlib>
#include <ctime>
#include <initializer_list>

#include <elf.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/system.hpp"
#include "base/variable.hpp"
#include "control/run_facts.hpp"

namespace kymo::control {

namespace {

std::string first_variable(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const value = base::trusted_variable(name);
    if (value != nullptr && *value != '\0') {
      return value;
    }
  }
  return {};
}

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

std::string to_hex(const unsigned char* bytes, std::size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) {
    hex.push_back(digits[bytes[i] >> 4U]);
    hex.push_back(digits[bytes[i] & 0xFU]);
  }
  return hex;
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

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  std::array<char, 32> text{};
  ::gmtime_r(&now, &broken_down);
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  return text.data();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return "unknown";
  }
  return name.data();
}

std::string job_rank() {
  return first_variable({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"});
}

std::string job_id() {
  return first_variable({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"});
}

Declarations describe_run() {
  Declarations facts;
  facts.processes.push_back(
      {1, static_cast<std::uint64_t>(::getpid()), host_name(), base::boot_id(), job_rank(), command_line()});
  const auto add = [&facts](const char* key, std::string value) {
    if (!value.empty()) {
      facts.infos.push_back({1, key, std::move(value)});
    }
  };
  std::string build_id;
  ::dl_iterate_phdr(take_build_id, &build_id);
  const std::string cpu = base::read_small_file("/proc/cpuinfo");
  utsname system{};
  add("started", utc_now());
  add("executable", executable_path());
  add("build_id", build_id);
  add("cpu", field_of(cpu, "model name"));
  add("cpu_count", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  add("cpu_governor", trimmed_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  add("nvpmodel", trimmed_file("/var/lib/nvpmodel/status"));
  if (::uname(&system) == 0) {
    add("kernel", std::string(system.sysname) + " " + system.release);
    add("architecture", system.machine);
  }
  add("job", job_id());
  return facts;
}

}  // namespace kymo::control
