#include "control/run_facts.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include <sys/stat.h>
#include <unistd.h>

#include "base/system/system.hpp"
#include "base/text/number_text.hpp"

namespace kymo::control {

namespace {

std::string file_safe(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::uint64_t own_pid() {
  return static_cast<std::uint64_t>(::getpid());
}

/// The process in KYMO_STARTER; 0: none.
std::uint64_t named_starter() {
  const char* const text = base::trusted_variable("KYMO_STARTER");
  return base::parse_integer<std::uint32_t>(text != nullptr ? text : "").value_or(0);
}

bool is_worker(std::uint64_t pid) {
  const std::uint64_t starter = named_starter();
  return starter != 0 && starter != pid;
}

/// `pid`: of the process whose path it is. Facts of the machine and the job are this process's.
std::string expand_pattern(std::string_view pattern, std::uint64_t pid) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path.push_back(pattern[i]);
      continue;
    }
    const auto or_zero = [](std::string text) { return text.empty() ? std::string("0") : file_safe(std::move(text)); };
    switch (pattern[++i]) {
      case 'p':
        path += std::to_string(pid);
        break;
      case 'h':
        path += file_safe(host_name());
        break;
      case 'r':
        path += or_zero(job_rank());
        break;
      case 'j':
        path += or_zero(job_id());
        break;
      case 'w':
        path += is_worker(pid) ? "-worker-" + std::to_string(pid) : "";
        break;
      case '%':
        path.push_back('%');
        break;
      default:
        path.push_back('%');
        path.push_back(pattern[i]);
    }
  }
  return path;
}

}  // namespace

std::uint64_t starter_process() {
  return is_worker(own_pid()) ? named_starter() : 0;
}

std::string followed_path() {
  const std::uint64_t starter = starter_process();
  const char* const path = starter != 0 ? base::trusted_variable("KYMO_FOLLOW") : nullptr;
  const char* const pattern = base::trusted_variable("KYMO_RECORD");
  if (path == nullptr || pattern == nullptr) {
    return {};
  }
  const std::string_view followed = path;
  const auto without_slashes = [](std::string_view text) { return text.substr(0, text.find_last_not_of('/') + 1); };
  // The starter's rank and job may be others than this process's.
  std::string_view known = pattern;
  known = known.substr(0, std::min(known.find("%r"), known.find("%j")));
  const std::string expected = expand_pattern(known, starter);
  if (known != pattern) {
    return followed.substr(0, expected.size()) == expected ? std::string(followed) : std::string();
  }
  const bool is_fitting =
      followed == expected || without_slashes(followed.substr(0, followed.rfind('/') + 1)) == without_slashes(expected);
  return is_fitting ? std::string(followed) : std::string();
}

std::string expand_path(std::string_view pattern, std::string_view ending) {
  std::string path = expand_pattern(pattern, own_pid());
  const bool names_directory = !path.empty() && path.back() == '/';
  if (names_directory) {
    ::mkdir(path.c_str(), 0777);
  }
  struct stat status {};
  if (!names_directory && (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
    return path;
  }
  const std::string rank = file_safe(job_rank());
  path += names_directory ? "" : "/";
  path += file_safe(host_name()) + "-" + (rank.empty() ? "" : rank + "-") + std::to_string(::getpid());
  path += ending;
  return path;
}

std::string absolute_pattern(std::string_view pattern) {
  std::array<char, PATH_MAX> folder{};
  if (pattern.empty() || pattern.front() == '/' || ::getcwd(folder.data(), folder.size()) == nullptr) {
    return std::string(pattern);
  }
  std::string path;
  for (const char* at = folder.data(); *at != '\0'; ++at) {
    path.append(*at == '%' ? 2 : 1, *at);
  }
  return path.append("/").append(pattern);
}

}  // namespace kymo::control
