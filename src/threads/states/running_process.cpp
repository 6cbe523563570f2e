#include "threads/states/running_process.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/system/file.hpp"

namespace kymo::threads {
namespace {

constexpr std::size_t most_records = std::size_t{1} << 16U;

/// Takes a number and the character behind it off the text.
template <typename Integer>
bool take_number(std::string_view& text, int base, char behind, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || used == text.size() || text[used] != behind) {
    return false;
  }
  text.remove_prefix(used + 1);
  return true;
}

}  // namespace

std::vector<std::uint32_t> list_numbers(const std::string& directory) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::uint32_t number = 0;
    const auto [stop, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc{} && stop == name.data() + name.size()) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<std::uint32_t> list_threads(pid_t process, const std::string& proc) {
  std::vector<std::uint32_t> threads = list_numbers(proc + "/" + std::to_string(process) + "/task");
  threads.resize(std::min(threads.size(), most_records));
  return threads;
}

KernelRecord parse_mapping_line(std::string_view line) {
  constexpr std::size_t most_path_bytes = 4096;
  constexpr std::string_view deleted = " (deleted)";
  KernelRecord record;
  std::uint64_t end = 0;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  if (!take_number(line, 16, '-', record.address) || !take_number(line, 16, ' ', end) || line.size() < 5 ||
      line[2] != 'x' || line[4] != ' ' || end <= record.address) {
    return {};
  }
  line.remove_prefix(5);
  std::string rest(line);
  rest += ' ';  // a mapping of no file ends behind its inode
  std::string_view left = rest;
  if (!take_number(left, 16, ' ', record.file_offset) || !take_number(left, 16, ':', major) ||
      !take_number(left, 16, ' ', minor) || !take_number(left, 10, ' ', record.inode)) {
    return {};
  }
  left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
  std::string_view path = left.substr(0, left.empty() ? 0 : left.size() - 1);
  if (path.size() > deleted.size() && path.ends_with(deleted)) {
    path.remove_suffix(deleted.size());
  }
  record.kind = KernelRecord::Kind::mapped;
  record.size = end - record.address;
  record.name = path.empty() ? "//anon" : std::string(path.substr(0, most_path_bytes));
  return record;
}

std::vector<KernelRecord> describe_process(pid_t process, std::int64_t time_ns, const std::string& proc,
                                           bool has_mappings) {
  const std::string root = proc + "/" + std::to_string(process);
  std::vector<KernelRecord> records;
  const auto add = [&](KernelRecord record, std::uint32_t thread) {
    record.pid = static_cast<std::uint32_t>(process);
    record.tid = thread;
    record.time_ns = time_ns;
    records.push_back(std::move(record));
  };
  for (const std::uint32_t thread : list_threads(process, proc)) {
    KernelRecord record;
    record.kind = KernelRecord::Kind::found;
    record.name = base::read_small_file(root + "/task/" + std::to_string(thread) + "/comm");
    record.name.resize(std::min(record.name.find('\n'), record.name.size()));
    add(std::move(record), thread);
  }
  if (!has_mappings) {
    return records;
  }
  const std::size_t threads = records.size();
  std::ifstream maps(root + "/maps");
  for (std::string line; records.size() < threads + most_records && std::getline(maps, line);) {
    if (KernelRecord record = parse_mapping_line(line); record.kind == KernelRecord::Kind::mapped) {
      add(std::move(record), static_cast<std::uint32_t>(process));
    }
  }
  return records;
}

}  // namespace kymo::threads
