// libkymo's system functions on macOS: facts of the machine, the sampler. There is no quick_exit(), and no spools to
// hand over.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <crt_externs.h>
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <sys/sysctl.h>

#include "base/system/library_function.hpp"
#include "base/text/escapes.hpp"
#include "control/control.hpp"
#include "control/platform.hpp"

namespace kymo::control {

namespace {

/// A text from the kernel; empty if it has none with that name.
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

/// The linker's UUID in the executable, the first image in the loader's list.
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
      return base::to_hex(&uuid.uuid[0], sizeof uuid.uuid);
    }
    at += command.cmdsize;
  }
  return {};
}

}  // namespace

SystemFacts read_system_facts() {
  SystemFacts facts;
  facts.command_line = command_line();
  facts.executable = executable_path();
  facts.build_id = build_id();
  facts.cpu = kernel_text("machdep.cpu.brand_string");
  facts.others.emplace_back("machine", kernel_text("hw.model"));
  if (const std::string version = kernel_text("kern.osproductversion"); !version.empty()) {
    facts.others.emplace_back("os", "macOS " + version);
  }
  return facts;
}

void Control::watch_process() {}

int connect_to_holder(const std::string& /*path*/) {
  return -1;
}

SamplingEntry linked_sampling() noexcept {
  SamplingEntry entry;
  entry.start = base::LibraryFunction(RTLD_DEFAULT, "kymo_start_sampling_v1");
  entry.stop = base::LibraryFunction(RTLD_DEFAULT, "kymo_stop_sampling_v1");
  entry.forget = base::LibraryFunction(RTLD_DEFAULT, "kymo_forget_sampling_v1");
  return entry;
}

}  // namespace kymo::control
