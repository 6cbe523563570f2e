#include "threads/states/wake_tracepoint.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/system/file.hpp"
#include "base/system/system.hpp"

namespace kymo::threads {
namespace {

/// More than any kernel's, less than a record.
constexpr std::uint32_t most_offset = 1024;

/// The number behind the first `key` after `from`; none if it is not there.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key, std::size_t from = 0) {
  const std::size_t at = text.find(key, from);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const char* const first = text.data() + at + key.size();
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<WakeTracepoint> parse_wake_format(std::string_view text) {
  constexpr std::string_view flags = "unsigned char common_flags;\toffset:2;\tsize:1;";
  constexpr std::string_view field = "field:pid_t pid;";
  const std::size_t at = text.find(field);
  const auto id = number_after(text, "\nID: ");
  if (!id || at == std::string_view::npos || text.find(flags) == std::string_view::npos) {
    return std::nullopt;
  }
  const auto offset = number_after(text, "\toffset:", at);
  const auto size = number_after(text, "\tsize:", at);
  if (!offset || *offset > most_offset || size != sizeof(std::uint32_t)) {
    return std::nullopt;
  }
  return WakeTracepoint{*id, static_cast<std::uint32_t>(*offset)};
}

std::optional<WakeTracepoint> find_wake_tracepoint(Refusal& refusal) {
  constexpr std::array folders{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
  // The tracepoint names threads by the numbers of the first namespace, all other records by those of the observer's.
  if (base::pid_namespace() != base::first_pid_namespace) {
    refusal = {ENOTSUP, "the kernel names threads as outside of this container", "kymo outside of the container"};
    return std::nullopt;
  }
  for (const char* const folder : folders) {
    const std::string text = base::read_small_file(std::string(folder) + "/events/sched/sched_waking/format");
    if (text.empty()) {
      continue;
    }
    if (const auto found = parse_wake_format(text)) {
      return found;
    }
    refusal = {ENOTSUP, "the kernel's tracepoint sched_waking is not as expected", {}};
    return std::nullopt;
  }
  refusal = {ENOENT, "no tracefs that can be read is at " + std::string(folders[0]),
             "root, and `mount -t tracefs tracefs /sys/kernel/tracing`"};
  return std::nullopt;
}

}  // namespace kymo::threads
