// The memory that is left to a process: on the machine, and in the control groups that a container or a service is in.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/system/file.hpp"
#include "base/system/system.hpp"

namespace kymo::base {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The files of a version of control groups.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* inactive;  ///< key in memory.stat: file pages that the kernel takes back before it runs out of memory
};
constexpr GroupFiles unified_files{"/memory.max", "/memory.current", "\ninactive_file "};
constexpr GroupFiles legacy_files{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "\ntotal_inactive_file "};

/// The number at the start of a text; `otherwise` if there is none, as in "max".
std::uint64_t number_in(std::string_view text, std::uint64_t otherwise) {
  std::uint64_t number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc() ? number : otherwise;
}

std::uint64_t room_in(const std::string& group, const GroupFiles& files) {
  const std::uint64_t limit = number_in(read_small_file(group + files.limit), unlimited);
  if (limit == unlimited) {
    return unlimited;
  }
  const std::uint64_t usage = number_in(read_small_file(group + files.usage), 0);
  const std::string_view key = files.inactive;
  const std::string stat = "\n" + read_small_file(group + "/memory.stat");
  const std::size_t at = stat.find(key);
  const std::uint64_t inactive =
      at == std::string::npos ? 0 : number_in(std::string_view(stat).substr(at + key.size()), 0);
  const std::uint64_t used = usage - std::min(usage, inactive);
  return limit - std::min(limit, used);
}

/// The least room of a group and of those around it. In a container, the path may be one that only its host has: then
/// the topmost directory is that of the container's group.
std::uint64_t room_in_all(const std::string& mount, std::string path, const GroupFiles& files) {
  std::uint64_t room = unlimited;
  for (;;) {
    while (!path.empty() && path.back() == '/') {
      path.pop_back();
    }
    room = std::min(room, room_in(mount + path, files));
    if (path.empty()) {
      return room;
    }
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
}

bool is_listed(std::string_view names, std::string_view name) {
  return ("," + std::string(names) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

}  // namespace

std::uint64_t control_group_room(const std::string& membership, const std::string& mount) {
  std::uint64_t room = unlimited;
  const std::string content = read_small_file(membership);
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) {
      room = std::min(room, room_in_all(mount, path, unified_files));
    } else if (is_listed(controllers, "memory")) {
      room = std::min(room, room_in_all(mount + "/memory", path, legacy_files));
    }
  }
  return room;
}

std::uint64_t spare_memory() {
  const std::string content = read_small_file("/proc/meminfo");
  const std::string_view key = "MemAvailable:";
  const std::size_t at = content.find(key);
  const std::size_t digits = at == std::string::npos ? at : content.find_first_not_of(' ', at + key.size());
  const std::uint64_t available_kb =
      digits == std::string::npos ? unlimited : number_in(std::string_view(content).substr(digits), unlimited);
  const std::uint64_t available = available_kb > unlimited / 1024 ? unlimited : available_kb * 1024;
  const std::uint64_t room = std::min(available, control_group_room("/proc/self/cgroup", "/sys/fs/cgroup"));
  return room == unlimited ? room : room / 2;
}

}  // namespace kymo::base
