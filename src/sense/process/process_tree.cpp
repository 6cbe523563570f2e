#include "sense/process/process_tree.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/system/file.hpp"
#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"

namespace kymo::sense {

namespace {

constexpr std::size_t buffer_bytes = 32 * 1024;  // some thousand children of one thread

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // 12 (name) S 1 ...: the name may contain anything, brackets and line breaks too. Fields count from 1.
  ProcessStat stat;
  TextCursor start(text);
  const std::optional<std::uint64_t> pid = start.number();
  const std::size_t name_end = text.rfind(')');
  if (!pid || name_end == std::string_view::npos) {
    return std::nullopt;
  }
  stat.pid = *pid;
  TextCursor cursor(text.substr(name_end + 1));
  const std::string_view state = cursor.word();
  if (state.size() != 1) {
    return std::nullopt;
  }
  stat.state = state.front();
  constexpr std::size_t first = 4;
  constexpr std::size_t last = 22;
  std::array<std::uint64_t, last + 1> fields{};
  for (std::size_t field = first; field <= last; ++field) {
    cursor.skip_blanks();
    const bool is_negative = cursor.skip("-");
    const std::optional<std::uint64_t> number = cursor.number();
    if (!number || *number > (std::uint64_t{1} << 62U)) {
      return std::nullopt;
    }
    fields[field] = is_negative ? 0 : *number;
  }
  // A text truncated within its last number would yield a wrong number.
  if (cursor.at_end()) {
    return std::nullopt;
  }
  stat.parent = fields[4];
  stat.minor_faults = fields[10];
  stat.waited_minor_faults = fields[11];
  stat.major_faults = fields[12];
  stat.waited_major_faults = fields[13];
  stat.ticks = fields[14] + fields[15];
  stat.waited_ticks = fields[16] + fields[17];
  stat.threads = fields[20];
  stat.start_ticks = fields[22];
  return stat;
}

std::string_view read_once(const std::string& path, std::vector<char>& buffer, int& error) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) {
    error = errno;
    return {};
  }
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t more = ::read(file.get(), buffer.data() + size, buffer.size() - size);
    if (more < 0 && errno == EINTR) {
      continue;
    }
    if (more < 0) {
      error = errno;
      return {};
    }
    if (more == 0) {
      break;
    }
    size += static_cast<std::size_t>(more);
  }
  error = 0;
  return {buffer.data(), size};
}

bool means_gone(int error) {
  return error == ENOENT || error == ESRCH;
}

ProcessTree::ProcessTree(const SensorContext& context, std::size_t most)
    : context_(context), most_(most), buffer_(buffer_bytes) {}

std::string ProcessTree::directory(std::uint64_t pid) const {
  return context_.at("/proc/") + std::to_string(pid) + '/';
}

std::optional<ProcessStat> ProcessTree::stat_of(std::uint64_t pid) {
  int error = 0;
  ++files_opened_;
  const std::string_view text = read_once(directory(pid) + "stat", buffer_, error);
  std::optional<ProcessStat> stat = parse_process_stat(text);
  if (!stat || stat->pid != pid) {
    const std::string path = directory(pid) + "stat";
    has_ended_ = pid == context_.process && means_gone(error);
    trouble_ = means_gone(error) ? "the process has ended: " + path
               : error != 0      ? std::string(std::strerror(error)) + ": " + path
                                 : "holds no process: " + path;
    return std::nullopt;
  }
  return stat;
}

bool ProcessTree::has(const ProcessStat& process) const {
  const auto found = starts_.find(process.pid);
  return found != starts_.end() && found->second == process.start_ticks;
}

bool ProcessTree::look() {
  files_opened_ = 0;
  has_ended_ = false;
  const std::optional<ProcessStat> root = stat_of(context_.process);
  if (!root || (root_start_ != 0 && root->start_ticks != root_start_)) {
    has_ended_ = has_ended_ || root;
    trouble_ = root ? "the process has ended: " + directory(context_.process) + "stat" : trouble_;
    gone_.clear();
    return false;
  }
  root_start_ = root->start_ticks;
  before_.swap(processes_);
  processes_.clear();
  known_.clear();
  for (const ProcessStat& process : before_) {
    known_[process.pid] = &process;
  }
  starts_.clear();
  gone_.clear();
  is_cut_ = false;
  new_processes_ = before_.empty() ? 1 : 0;
  const std::string pid = std::to_string(context_.process);
  has_children_files_ = has_children_files_ || is_there(directory(context_.process) + "task/" + pid + "/children");
  if (!has_children_files_) {
    scan_parents();
  }
  processes_.push_back(*root);
  starts_[root->pid] = root->start_ticks;
  follow(0);
  settle_missing();
  return true;
}

void ProcessTree::follow(std::size_t from) {
  for (std::size_t i = from; i < processes_.size(); ++i) {
    children_.clear();
    find_children(processes_[i].pid, children_);
    for (const std::uint64_t child : children_) {
      add(child);
    }
  }
}

bool ProcessTree::add(std::uint64_t pid, bool is_orphan) {
  if (starts_.count(pid) != 0) {
    return false;
  }
  // A watched process stays watched. Otherwise its amounts would be counted again once there is room for it.
  const auto known = known_.find(pid);
  if (known == known_.end() && before_.size() + new_processes_ >= most_) {
    is_cut_ = true;
    return false;
  }
  const std::optional<ProcessStat> stat = stat_of(pid);
  const bool is_known = stat && known != known_.end() && known->second->start_ticks == stat->start_ticks;
  if (!stat || starts_.count(stat->parent) == 0 || (is_orphan && !is_known)) {
    return false;
  }
  new_processes_ += is_known ? 0 : 1;
  processes_.push_back(*stat);
  starts_[pid] = stat->start_ticks;
  return true;
}

void ProcessTree::find_children(std::uint64_t pid, std::vector<std::uint64_t>& children) {
  if (!has_children_files_) {
    const auto [first, last] = by_parent_.equal_range(pid);
    for (auto child = first; child != last; ++child) {
      children.push_back(child->second);
    }
    return;
  }
  const std::string tasks = directory(pid) + "task/";
  for (const std::string& thread : list_directory(tasks)) {
    int error = 0;
    ++files_opened_;
    TextCursor cursor(read_once(tasks + thread + "/children", buffer_, error));
    while (const std::optional<std::uint64_t> child = cursor.number()) {
      children.push_back(*child);
    }
  }
}

void ProcessTree::scan_parents() {
  by_parent_.clear();
  for (const std::string& name : list_directory(context_.at("/proc"))) {
    TextCursor cursor(name);
    const std::optional<std::uint64_t> pid = cursor.number();
    if (!pid || !cursor.at_end()) {
      continue;
    }
    if (const std::optional<ProcessStat> stat = stat_of(*pid)) {
      by_parent_.emplace(stat->parent, stat->pid);
    }
  }
}

void ProcessTree::settle_missing() {
  // A list of children read while a child ends may omit others. An orphan may have found a new parent in the tree whose
  // list was read before. Parents precede their children in `before_`, too.
  for (const ProcessStat& process : before_) {
    const std::size_t found = processes_.size();
    if (!has(process) && add(process.pid, true)) {
      follow(found);
    }
  }
  for (const ProcessStat& process : before_) {
    if (has(process)) {
      continue;
    }
    const std::optional<ProcessStat> now = stat_of(process.pid);
    if (now && now->start_ticks == process.start_ticks) {
      gone_.push_back({process.pid, ProcessLedger<1>::outside});
      continue;
    }
    const auto parent = known_.find(process.parent);
    const bool has_heir = parent != known_.end() && has(*parent->second);
    gone_.push_back({process.pid, has_heir ? process.parent : ProcessLedger<1>::unknown});
  }
}

}  // namespace kymo::sense
