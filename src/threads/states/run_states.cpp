#include "threads/states/run_states.hpp"

#include <algorithm>
#include <utility>

namespace kymo::threads {

using Kind = KernelRecord::Kind;

namespace {

/// From the end of a process until a parent that waited for it goes on: its memory is freed meanwhile, a gigabyte in
/// 60 ms.
constexpr std::int64_t longest_reaping_ns = 1'000'000'000;
/// The same of a thread of which nobody knows what it waited for.
constexpr std::int64_t usual_reaping_ns = 50'000'000;
/// From the end of a thread until one that waited for it goes on.
constexpr std::int64_t longest_joining_ns = 500'000;
/// From when a thread goes on that an end woke until that end is recorded.
constexpr std::int64_t latest_end_ns = 200'000;

}  // namespace

RunStates::Thread* RunStates::begin(const KernelRecord& record) {
  if (last_id_ == most_threads) {
    ++unfollowed_;
    return nullptr;
  }
  Thread& thread = threads_[record.tid];
  thread = {};
  thread.id = ThreadId{++last_id_};
  thread.pid = record.pid;
  return &thread;
}

RunStates::Thread* RunStates::find(const KernelRecord& record) {
  const auto found = threads_.find(record.tid);
  return found != threads_.end() ? &found->second : begin(record);
}

ThreadId RunStates::thread_of(const KernelRecord& record) {
  const Thread* const thread = find(record);
  return thread != nullptr ? thread->id : ThreadId{};
}

void RunStates::close(Thread& thread, std::int64_t end_ns) {
  if (thread.state && end_ns > thread.since_ns) {
    thread.done.push_back({thread.since_ns, end_ns - thread.since_ns, thread.cpu, *thread.state});
    ++waiting_;
  }
}

void RunStates::change(Thread& thread, const KernelRecord& record, RunState next, bool is_expected) {
  ++switches_;
  const bool is_late = record.time_ns < thread.since_ns;
  if (is_expected && !is_late) {
    close(thread, record.time_ns);
  }
  thread.state = is_late || record.time_ns < trusted_from_ns_ ? std::nullopt : std::optional(next);
  thread.began_ns = thread.since_ns = std::max(record.time_ns, thread.since_ns);
  thread.cpu = record.cpu;
  thread.is_woken = false;
  if (next == RunState::running) {
    thread.ends_by = WaitEnd::unknown;
  }
}

void RunStates::take(const KernelRecord& record) {
  switch (record.kind) {
    case Kind::exited:
      end(record);
      return;
    case Kind::forked:
      end(record);  // of an earlier thread whose end was lost
      if (Thread* const thread = begin(record)) {
        if (const auto parent = threads_.find(record.parent_tid); parent != threads_.end()) {
          thread->name = parent->second.name;
          thread->creator = parent->second.id;
        }
        thread->state =
            record.time_ns < trusted_from_ns_ || !has_switches_ ? std::nullopt : std::optional(RunState::runnable);
        thread->since_ns = record.time_ns;
        thread->cpu = record.cpu;
      }
      return;
    case Kind::found:
      if (Thread* const thread = find(record)) {
        thread->name = record.name;
      }
      return;
    case Kind::named:
      if (record.is_exec) {
        end_others(record);
      }
      if (Thread* const thread = find(record); thread != nullptr && thread->name != record.name) {
        thread->name = record.name;
        thread->is_declared = false;
      }
      return;
    case Kind::switched_in:
      if (Thread* const thread = find(record)) {
        wake_by_exit(record.tid, *thread, record.time_ns);
        change(*thread, record, RunState::running, thread->state != RunState::running);
      }
      return;
    case Kind::pushed_off:
    case Kind::blocked:
      if (Thread* const thread = find(record)) {
        change(*thread, record, record.kind == Kind::blocked ? RunState::blocked : RunState::runnable,
               thread->state == RunState::running);
      }
      return;
    case Kind::waking:
      wake(record);
      return;
    case Kind::other:
    case Kind::lost_records:
    case Kind::mapped:
    case Kind::sampled:
      return;
    case Kind::leaving:
      if (Thread* const thread = read_wait_ ? find(record) : nullptr) {
        thread->ends_by = read_wait_(record.kernel_chain);
      }
      return;
  }
}

/// A thread may be woken while it makes ready to wait: it does not wait then.
void RunStates::wake(const KernelRecord& record) {
  const auto woken = threads_.find(record.woken_tid);
  const auto waker = threads_.find(record.tid);
  if (woken != threads_.end() && waker != threads_.end() && woken->second.state == RunState::blocked) {
    woken->second.is_woken = true;
    add_wake(woken->second.id, waker->second.id, record.time_ns);
  }
}

void RunStates::add_wake(ThreadId woken, ThreadId waker, std::int64_t time_ns) {
  ended_.wakes.push_back({woken, waker, time_ns});
  ++waiting_;
}

void RunStates::wake_by_exit(std::uint32_t tid, Thread& thread, std::int64_t time_ns) {
  if (thread.state != RunState::blocked || thread.is_woken || thread.ends_by == WaitEnd::timer) {
    return;
  }
  if (const auto child = child_exits_.find(thread.pid);
      child != child_exits_.end() &&
      wake_by(child->second, thread, time_ns, longest_reaping_of(child->second, thread))) {
    child_exits_.erase(child);
    return;
  }
  if (const auto other = thread_exits_.find(thread.pid);
      other != thread_exits_.end() && wake_by(other->second, thread, time_ns, longest_joining_ns)) {
    thread.woken_by_exit = other->second;
    return;
  }
  while (!resumptions_.empty() && resumptions_.front().time_ns < time_ns - latest_end_ns) {
    resumptions_.pop_front();
  }
  resumptions_.push_back({tid, thread.id, thread.pid, time_ns});
}

std::int64_t RunStates::longest_reaping_of(const Exit& exit, const Thread& thread) {
  if (thread.ends_by == WaitEnd::child) {
    return longest_reaping_ns;
  }
  return exit.creator == thread.id ? usual_reaping_ns : -1;
}

bool RunStates::wake_by(const Exit& exit, const Thread& thread, std::int64_t time_ns, std::int64_t longest_ns) {
  if (exit.last_ns < thread.began_ns || time_ns - exit.last_ns > longest_ns) {
    return false;
  }
  const bool is_first = exit.time_ns >= thread.began_ns;
  add_wake(thread.id, is_first ? exit.thread : exit.last, is_first ? exit.time_ns : exit.last_ns);
  return true;
}

void RunStates::wake_by_late_exit(const Exit& exit, const Thread& thread) {
  if (thread.state != RunState::running) {
    return;
  }
  for (Resumption& resumption : resumptions_) {
    const bool is_joined = resumption.pid == thread.pid && resumption.time_ns > thread.began_ns &&
                           exit.last_ns - resumption.time_ns <= latest_end_ns;
    if (!is_joined) {
      continue;
    }
    add_wake(resumption.thread, exit.thread, resumption.time_ns);
    resumption.pid = 0;
    const auto woken = threads_.find(resumption.tid);
    if (woken != threads_.end() && woken->second.id == resumption.thread) {
      woken->second.woken_by_exit = exit;
    }
  }
}

void RunStates::end(const KernelRecord& record) {
  const auto found = threads_.find(record.tid);
  if (found == threads_.end()) {
    return;
  }
  // A thread ends itself, so it runs. Only the start of another with its number says that its end was missed.
  if (record.kind == Kind::exited && found->second.state == RunState::running) {
    close(found->second, record.time_ns);
  }
  if (record.kind == Kind::exited) {
    remember_exit(record, found->second);
  }
  hand_over(found->first, found->second, ended_);
  threads_.erase(found);
}

/// Of a process, the end of the main thread is the last word.
void RunStates::remember_exit(const KernelRecord& record, const Thread& thread) {
  if (record.tid == record.pid) {
    child_exits_.erase(record.pid);
    thread_exits_.erase(record.pid);
    if (threads_.count(record.parent_pid) != 0) {
      child_exits_[record.parent_pid] = {thread.id, record.time_ns, thread.id, record.time_ns, thread.creator};
    }
    return;
  }
  const std::optional<Exit>& cause = thread.woken_by_exit;
  Exit exit{thread.id, record.time_ns, thread.id, record.time_ns, {}};
  if (cause && record.time_ns - cause->last_ns <= longest_joining_ns) {
    exit.thread = cause->thread;
    exit.time_ns = cause->time_ns;
  }
  thread_exits_[record.pid] = exit;
  wake_by_late_exit(exit, thread);
}

/// The thread that calls execve goes on under its process's number, whatever its own was.
void RunStates::end_others(const KernelRecord& record) {
  for (auto entry = threads_.begin(); entry != threads_.end();) {
    if (entry->second.pid == record.pid && entry->first != record.tid) {
      hand_over(entry->first, entry->second, ended_);
      entry = threads_.erase(entry);
    } else {
      ++entry;
    }
  }
}

void RunStates::lose(std::int64_t from_ns, std::int64_t until_ns) {
  for (auto& [tid, thread] : threads_) {
    close(thread, from_ns);
    thread.state.reset();
    thread.since_ns = std::max(thread.since_ns, from_ns);
  }
  child_exits_.clear();
  thread_exits_.clear();
  resumptions_.clear();
  trusted_from_ns_ = std::max(trusted_from_ns_, until_ns);
}

void RunStates::hand_over(std::uint32_t tid, Thread& thread, EventBatch& batch) {
  if (!std::exchange(thread.is_declared, true)) {
    batch.declarations.threads.push_back({thread.id, ProcessId{1}, thread.pid, tid, thread.name});
  }
  if (!thread.done.empty()) {
    batch.states.push_back({thread.id, std::exchange(thread.done, {})});
  }
}

void RunStates::declare_again() {
  for (auto& [tid, thread] : threads_) {
    thread.is_declared = false;
  }
}

void RunStates::collect(std::int64_t now_ns, std::int64_t most_open_ns, EventBatch& batch) {
  batch = std::exchange(ended_, {});
  waiting_ = 0;
  for (auto& [tid, thread] : threads_) {
    if (thread.state && thread.since_ns <= now_ns - most_open_ns) {
      close(thread, now_ns);
      thread.since_ns = now_ns;
    }
    hand_over(tid, thread, batch);
  }
  batch.start_ns = batch.end_ns = now_ns;
  for (const StateRun& run : batch.states) {
    batch.start_ns = std::min(batch.start_ns, run.states.front().start_ns);
    batch.end_ns = std::max(batch.end_ns, run.states.back().end_ns());
  }
  for (const ThreadWake& wake : batch.wakes) {
    batch.start_ns = std::min(batch.start_ns, wake.time_ns);
    batch.end_ns = std::max(batch.end_ns, wake.time_ns);
  }
}

}  // namespace kymo::threads
