// What macOS says about this process and the machine.
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/// A text that the kernel keeps; empty where it has none of that name.
std::string kernel_text(const char* name) {
  std::array<char, 1024> text{};
  std::size_t size = text.size() - 1;
  return ::sysctlbyname(name, text.data(), &size, nullptr, 0) == 0 ? std::string(text.data()) : std::string();
}

std::string command_line() {
  std::string line;
  char** const arguments = *::_NSGetArgv();
  const int count = *::_NSGetArgc();
  for (int i = 0; i < count && arguments[i] != nullptr; ++i) {
    line.append(i == 0 ? "" : " ").append(arguments[i]);
  }
  return line;
}

std::string executable_path() {
  std::array<char, 4096> path{};
  auto size = static_cast<std::uint32_t>(path.size() - 1);
  return ::_NSGetExecutablePath(path.data(), &size) == 0 ? std::string(path.data()) : std::string();
}

std::string to_hex(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) {
    hex.push_back(digits[bytes[i] >> 4U]);
    hex.push_back(digits[bytes[i] & 0xFU]);
  }
  return hex;
}

/// The UUID that the linker wrote into the executable, which is the first image that the loader lists.
std::string build_id() {
  const auto* const header = reinterpret_cast<const mach_header_64*>(::_dyld_get_image_header(0));
  if (header == nullptr || header->magic != MH_MAGIC_64) {
    return {};
  }
  const char* at = reinterpret_cast<const char*>(header + 1);
  const char* const end = at + header->sizeofcmds;
  for (std::uint32_t i = 0; i < header->ncmds; ++i) {
    load_command command{};
    if (static_cast<std::size_t>(end - at) < sizeof command) {
      break;
    }
    std::memcpy(&command, at, sizeof command);
    if (command.cmdsize < sizeof command || command.cmdsize > static_cast<std::size_t>(end - at)) {
      break;
    }
    uuid_command uuid{};
    if (command.cmd == LC_UUID && command.cmdsize >= sizeof uuid) {
      std::memcpy(&uuid, at, sizeof uuid);
      return to_hex(&uuid.uuid[0], sizeof uuid.uuid);
    }
    at += command.cmdsize;
  }
  return {};
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
  utsname system{};
  add("started", utc_now());
  add("executable", executable_path());
  add("build_id", build_id());
  add("cpu", kernel_text("machdep.cpu.brand_string"));
  add("cpu_count", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  add("machine", kernel_text("hw.model"));
  if (const std::string version = kernel_text("kern.osproductversion"); !version.empty()) {
    add("os", "macOS " + version);
  }
  if (::uname(&system) == 0) {
    add("kernel", std::string(system.sysname) + " " + system.release);
    add("architecture", system.machine);
  }
  add("job", job_id());
  return facts;
}

}  // namespace kymo::control
