#include "threads/processes/process_spans.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;

constexpr std::size_t most_asked = 256;
constexpr std::size_t most_command_bytes = 256;
constexpr std::size_t most_ancestors = 64;
constexpr std::size_t most_names = 4096;
constexpr std::size_t most_candidates = 64;
constexpr std::uint32_t most_children = 3;

/// What is declared once, in this order.
enum class Word : std::uint32_t { process = 1, pid, parent, command, cpu_ns, memory_bytes, exit_status, signal };
constexpr std::array<const char*, 8> words{"process", "pid",          "parent",      "command",
                                           "cpu_ns",  "memory_bytes", "exit_status", "signal"};
NameId id_of(Word word) {
  return NameId{static_cast<std::uint32_t>(word)};
}

/// linux/pidfd.h of 6.15: headers are older than kernels.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::array<std::uint32_t, 13> unused{};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t info_exit = 8;
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, PidfdInfo);

base::FileDescriptor open_handle(std::uint32_t pid) {
  return base::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// Its arguments, the first one without its directory. Empty if it is gone.
std::string read_command(std::uint32_t pid) {
  std::string text = base::read_small_file("/proc/" + std::to_string(pid) + "/cmdline");
  text.erase(0, text.rfind('/', text.find('\0')) + 1);
  text.resize(std::min(text.size(), most_command_bytes));
  while (!text.empty() && text.back() == '\0') {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

/// Its greatest resident size so far; 0 if it is gone.
std::uint64_t read_memory(std::uint32_t pid) {
  const std::string status = base::read_small_file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view key = "\nVmHWM:";
  const std::size_t at = status.find(key);
  const std::uint64_t kib = at != std::string::npos ? std::strtoull(status.c_str() + at + key.size(), nullptr, 10) : 0;
  return kib <= UINT64_MAX / 1024 ? kib * 1024 : 0;
}

}  // namespace

ProcessSpans::Process* ProcessSpans::begin(const KernelRecord& record) {
  const auto known = processes_.find(record.pid);
  if (known != processes_.end()) {
    return &known->second;
  }
  if (processes_.size() == most_processes) {
    return nullptr;
  }
  Process& process = processes_[record.pid];
  process.number = ++started_;
  process.pid = record.pid;
  process.start_ns = record.time_ns;
  const auto parent = record.kind == Kind::forked ? processes_.find(record.parent_pid) : processes_.end();
  if (parent != processes_.end()) {
    process.parent_pid = record.parent_pid;
    process.name = parent->second.name;
    process.ancestors = parent->second.ancestors;
    if (process.ancestors.size() < most_ancestors) {
      process.ancestors.push_back(parent->second.number);
    }
    ++parent->second.children;
  }
  const auto free = std::find(lanes_.begin(), lanes_.end(), false);
  process.lane = static_cast<std::size_t>(free - lanes_.begin());
  if (free == lanes_.end()) {
    lanes_.push_back(true);
  } else {
    *free = true;
  }
  threads_[record.tid] = {record.pid, -1};
  return &process;
}

void ProcessSpans::begin_thread(const KernelRecord& record) {
  const auto process = processes_.find(record.pid);
  if (process == processes_.end()) {
    begin(record);
  } else if (threads_.try_emplace(record.tid, Thread{record.pid, -1}).second) {
    ++process->second.threads;
  }
}

/// An execution leaves one thread, whose id becomes that of the process.
void ProcessSpans::rename(const KernelRecord& record) {
  Process* const process = begin(record);
  if (process == nullptr || (!record.is_exec && record.tid != record.pid)) {
    return;
  }
  process->name = record.name;
  if (record.is_exec) {
    process->command.clear();
    process->asks_command = true;
    if (process->threads > 1) {
      std::erase_if(threads_, [&record](const auto& thread) {
        return thread.second.pid == record.pid && thread.first != record.tid;
      });
      process->threads = 1;
    }
  }
}

void ProcessSpans::stop_running(Thread& thread, std::int64_t time_ns) {
  const auto process = processes_.find(thread.pid);
  if (thread.running_since_ns >= 0 && process != processes_.end()) {
    process->second.cpu_ns += std::max<std::int64_t>(time_ns - thread.running_since_ns, 0);
  }
  thread.running_since_ns = -1;
}

void ProcessSpans::end_thread(const KernelRecord& record) {
  const auto thread = threads_.find(record.tid);
  const auto process = processes_.find(record.pid);
  if (thread == threads_.end() || process == processes_.end()) {
    return;
  }
  stop_running(thread->second, record.time_ns);
  threads_.erase(thread);
  if (--process->second.threads == 0) {
    process->second.end_ns = record.time_ns;
    lanes_[process->second.lane] = false;
    ended_.push_back(std::move(process->second));
    processes_.erase(process);
  }
}

void ProcessSpans::take(const KernelRecord& record, ThreadId /*thread*/) {
  switch (record.kind) {
    case Kind::found:
      begin_thread(record);
      rename(record);
      return;
    case Kind::named:
      rename(record);
      return;
    case Kind::forked:
      begin_thread(record);
      return;
    case Kind::exited:
      end_thread(record);
      return;
    case Kind::switched_in: {
      if (started_ == 0) {
        begin(record);  // the command, which is about to be executed
      }
      const auto thread = threads_.find(record.tid);
      if (thread != threads_.end()) {
        thread->second.running_since_ns = record.time_ns;
      }
      return;
    }
    case Kind::pushed_off:
    case Kind::blocked: {
      const auto thread = threads_.find(record.tid);
      if (thread != threads_.end()) {
        stop_running(thread->second, record.time_ns);
      }
      return;
    }
    case Kind::other:
    case Kind::lost_records:
    case Kind::mapped:
    case Kind::sampled:
    case Kind::leaving:
    case Kind::waking:
      return;
  }
}

void ProcessSpans::lose() {
  for (auto& [pid, process] : processes_) {
    process.is_cpu_known = false;
  }
  for (auto& [tid, thread] : threads_) {
    thread.running_since_ns = -1;
  }
}

void ProcessSpans::ask(Process& process) const {
  if (!process.handle) {
    process.handle = open_handle(process.pid);
  }
  if (std::exchange(process.asks_command, false) && has_commands_) {
    process.command = read_command(process.pid);
  }
  process.memory_bytes = std::max(process.memory_bytes, read_memory(process.pid));
}

void ProcessSpans::look() {
  std::size_t asked = 0;
  for (auto& [pid, process] : processes_) {
    if (++asked > most_asked) {
      return;
    }
    ask(process);
  }
}

void ProcessSpans::nominate(const Process& process, std::int64_t end_ns) {
  if (process.number == 1 || process.children > most_children) {
    return;
  }
  const std::int64_t duration_ns = end_ns - process.start_ns;
  const auto place = std::find_if(candidates_.begin(), candidates_.end(), [duration_ns](const Candidate& other) {
    return other.ended.duration_ns < duration_ns;
  });
  candidates_.insert(
      place,
      {process.number, process.ancestors, {process.command.empty() ? process.name : process.command, duration_ns}});
  candidates_.resize(std::min(candidates_.size(), most_candidates));
}

std::vector<ProcessSpans::Ended> ProcessSpans::longest(std::size_t count) const {
  std::vector<Ended> found;
  std::vector<std::uint64_t> taken;
  for (const Candidate& candidate : candidates_) {
    const bool is_part = std::any_of(
        candidate.ancestors.begin(), candidate.ancestors.end(),
        [&taken](std::uint64_t ancestor) { return std::find(taken.begin(), taken.end(), ancestor) != taken.end(); });
    if (found.size() < count && !is_part) {
      found.push_back(candidate.ended);
      taken.push_back(candidate.number);
    }
  }
  return found;
}

NameId ProcessSpans::name_of(const std::string& name, EventBatch& batch) {
  const auto known = names_.find(name);
  if (known != names_.end()) {
    return known->second;
  }
  if (names_.size() == most_names || name.empty()) {
    return id_of(Word::process);
  }
  const NameId id{++last_name_};
  names_.emplace(name, id);
  batch.declarations.names.push_back({id, name});
  return id;
}

void ProcessSpans::declare(EventBatch& batch) {
  if (last_name_ == 0) {
    for (const char* const word : words) {
      batch.declarations.names.push_back({NameId{++last_name_}, word});
    }
  }
  for (; declared_lanes_ < lanes_.size(); ++declared_lanes_) {
    batch.declarations.tracks.push_back({TrackId::from_index(static_cast<std::uint32_t>(declared_lanes_)),
                                         TrackKind::queue, ProcessId{1}, 0,
                                         "processes " + std::to_string(declared_lanes_ + 1)});
  }
}

void ProcessSpans::add_span(const Process& process, std::int64_t end_ns, EventBatch& batch) {
  SpanEvent span;
  span.track = TrackId::from_index(static_cast<std::uint32_t>(process.lane));
  span.name = name_of(process.name, batch);
  span.category = id_of(Word::process);
  span.start_ns = process.start_ns;
  span.duration_ns = std::max<std::int64_t>(end_ns - process.start_ns, 0);
  span.first_argument = static_cast<std::uint32_t>(batch.span_arguments.size());
  const auto add = [&batch](Word word, std::uint64_t value) {
    batch.span_arguments.push_back({id_of(word), ArgumentType::uint64, false, 0, value});
  };
  add(Word::pid, process.pid);
  if (process.parent_pid != 0) {
    add(Word::parent, process.parent_pid);
  }
  if (!process.command.empty()) {
    batch.span_arguments.push_back({id_of(Word::command), ArgumentType::string,
                                    process.command.size() == most_command_bytes,
                                    static_cast<std::uint32_t>(process.command.size()), batch.text.size()});
    batch.text += process.command;
  }
  if (has_switches_ && process.is_cpu_known) {
    add(Word::cpu_ns, static_cast<std::uint64_t>(process.cpu_ns));
  }
  if (process.memory_bytes != 0) {
    add(Word::memory_bytes, process.memory_bytes);
  }
  PidfdInfo info;
  info.mask = info_exit;
  if (process.handle && ::ioctl(process.handle.get(), pidfd_get_info, &info) == 0 && (info.mask & info_exit) != 0) {
    const bool is_signal = WIFSIGNALED(info.exit_code);
    add(is_signal ? Word::signal : Word::exit_status,
        static_cast<std::uint64_t>(is_signal ? WTERMSIG(info.exit_code) : WEXITSTATUS(info.exit_code)));
  }
  span.argument_count = static_cast<std::uint32_t>(batch.span_arguments.size()) - span.first_argument;
  batch.start_ns = std::min(batch.start_ns, span.start_ns);
  batch.end_ns = std::max(batch.end_ns, end_ns);
  batch.spans.push_back(span);
}

void ProcessSpans::collect(std::int64_t now_ns, bool is_last, EventBatch& batch) {
  if (started_ < 2) {
    return;
  }
  declare(batch);
  for (const Process& process : std::exchange(ended_, {})) {
    nominate(process, process.end_ns);
    add_span(process, process.end_ns, batch);
  }
  if (is_last) {
    for (const auto& [pid, process] : processes_) {
      nominate(process, now_ns);
      add_span(process, std::max(now_ns, process.start_ns), batch);
    }
  }
}

}  // namespace kymo::threads
