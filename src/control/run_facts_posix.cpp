// Facts about this process and the machine that all POSIX systems provide alike.
#include <array>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <sys/utsname.h>
#include <unistd.h>

#include "base/system/system.hpp"
#include "base/text/pattern_list.hpp"
#include "control/platform.hpp"
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

/// Does not use the C library's time zones, whose lock another thread may have held when this process was forked.
std::string utc_now() {
  namespace chrono = std::chrono;
  const auto now = chrono::floor<chrono::seconds>(chrono::system_clock::now());
  const auto day = chrono::floor<chrono::days>(now);
  const chrono::year_month_day date(day);
  const auto second = static_cast<unsigned>((now - day).count());
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02u:%02u:%02uZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second / 3600, second / 60 % 60,
                second % 60);
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
  SystemFacts of_system = read_system_facts();
  Declarations facts;
  const auto if_wanted = [](std::string_view key, std::string value) {
    return base::wants_fact(key) ? std::move(value) : std::string();
  };
  facts.processes.push_back({ProcessId{1}, static_cast<std::uint64_t>(::getpid()), if_wanted("host", host_name()),
                             if_wanted("boot_id", base::boot_id()), if_wanted("rank", job_rank()),
                             if_wanted("command_line", std::move(of_system.command_line))});
  const auto add = [&facts](std::string key, std::string value) {
    if (!value.empty() && base::wants_fact(key)) {
      facts.infos.push_back({ProcessId{1}, std::move(key), std::move(value)});
    }
  };
  add("started", utc_now());
  add("executable", std::move(of_system.executable));
  add("build_id", std::move(of_system.build_id));
  add("cpu", std::move(of_system.cpu));
  add("cpu_count", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  for (auto& [key, value] : of_system.others) {
    add(std::move(key), std::move(value));
  }
  utsname system{};
  if (::uname(&system) == 0) {
    add("kernel", std::string(system.sysname) + " " + system.release);
    add("architecture", system.machine);
  }
  add("job", job_id());
  add("starter", first_variable({"KYMO_STARTER"}));
  return facts;
}

}  // namespace kymo::control
