// A coroutine scheduler: any free worker takes tasks from a queue, in the middle of their scopes. Fibers keep the
// scopes of a task together; a Lockable shows waits for the queue.
//
//     ./coroutines --record run.kymo && kymo stats run.kymo
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <kymo/kymo.hpp>
#include <kymo/lockable.hpp>

#include "task.hpp"

namespace {

using coroutines::Task;

constexpr const char* usage =
    "Usage: coroutines [OPTION]...\n"
    "Runs tasks that move between the threads of a small scheduler.\n"
    "\n"
    "  --tasks N      tasks (12)\n"
    "  --workers N    threads that run them (3)\n"
    "  --record FILE  record the run; KYMO_RECORD=FILE does the same\n"
    "  --help         print this and exit\n";

struct Options {
  std::uint32_t tasks = 12;
  std::uint32_t workers = 3;
  std::string record;
  bool wants_help = false;
};

/// Returns nothing, after a message on stderr, for invalid arguments.
std::optional<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.wants_help = true;
      return options;
    }
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    const auto read = [&](std::uint32_t& number) {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      return error == std::errc() && end == value.data() + value.size() && number > 0 && number <= 1000;
    };
    bool is_understood = !value.empty();
    if (argument == "--tasks") {
      is_understood = read(options.tasks);
    } else if (argument == "--workers") {
      is_understood = read(options.workers);
    } else if (argument == "--record") {
      options.record = value;
    } else {
      is_understood = false;
    }
    if (!is_understood) {
      std::fprintf(stderr, "coroutines: %s is not understood; see --help\n", arguments[i]);
      return std::nullopt;
    }
  }
  return options;
}

/// Keeps a thread busy.
void compute(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Reads, then transforms piece by piece, then writes. Other tasks run between pieces.
Task process(std::uint32_t number) {
  KYMO_SCOPE("process", {"number", number});
  {
    KYMO_SCOPE("read");
    compute(std::chrono::microseconds(300));
    co_await coroutines::yield();
    compute(std::chrono::microseconds(200));
  }
  for (std::uint32_t piece = 0; piece < 4; ++piece) {
    KYMO_SCOPE("transform", {"piece", piece});
    compute(std::chrono::microseconds(400));
    co_await coroutines::yield();
    compute(std::chrono::microseconds(400));
  }
  KYMO_SCOPE("write");
  compute(std::chrono::microseconds(200));
}

/// A task, its fiber, and the workers that have run it.
struct Job {
  explicit Job(std::uint32_t number) : fiber("task " + std::to_string(number)), task(process(number)) {}

  kymo::Fiber fiber;
  Task task;
  std::set<std::uint32_t> workers;
  std::uint32_t moves = 0;
  std::uint32_t last_worker = 0;
};

class Scheduler {
 public:
  explicit Scheduler(std::vector<std::unique_ptr<Job>>& jobs) : unfinished_(jobs.size()) {
    for (const auto& job : jobs) {
      queue_.push_back(job.get());
    }
  }

  /// Runs tasks until all are finished.
  void work(std::uint32_t worker) {
    kymo::set_thread_name("worker " + std::to_string(worker));
    for (;;) {
      Job* const job = take();
      if (job == nullptr) {
        if (is_finished()) {
          return;
        }
        std::this_thread::yield();
        continue;
      }
      job->moves += !job->workers.empty() && job->last_worker != worker ? 1U : 0U;
      job->last_worker = worker;
      job->workers.insert(worker);
      give_back(job->task.resume(job->fiber) ? job : nullptr);
    }
  }

 private:
  Job* take() {
    const std::lock_guard lock(mutex_);
    mutex_.mark();
    if (queue_.empty()) {
      return nullptr;
    }
    Job* const job = queue_.front();
    queue_.pop_front();
    return job;
  }

  void give_back(Job* job) {
    const std::lock_guard lock(mutex_);
    mutex_.mark();
    if (job == nullptr) {
      --unfinished_;
    } else {
      queue_.push_back(job);
    }
    compute(
        std::chrono::microseconds(20));  // does a little work under the queue's lock, so that the recording has waits
  }

  bool is_finished() {
    const std::lock_guard lock(mutex_);
    return unfinished_ == 0;
  }

  kymo::Lockable<std::mutex> mutex_{"queue"};
  std::deque<Job*> queue_;
  std::size_t unfinished_;
};

void run(const Options& options) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (std::uint32_t i = 0; i < options.tasks; ++i) {
    jobs.push_back(std::make_unique<Job>(i));
  }
  Scheduler scheduler(jobs);
  std::vector<std::thread> workers;
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    workers.emplace_back([&scheduler, i] { scheduler.work(i); });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  for (std::uint32_t i = 0; i < options.tasks; ++i) {
    std::printf("task %u ran on %zu of %u workers and moved %u times\n", i, jobs[i]->workers.size(), options.workers,
                jobs[i]->moves);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) {
    return 2;
  }
  if (options->wants_help) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (options->record.empty()) {
    kymo::enable();
  } else {
    kymo::CaptureOptions capture;
    capture.path = options->record;
    if (!kymo::start_capture(capture)) {
      return 1;
    }
  }
  const bool is_recorded = kymo::is_recording();
  run(*options);
  if (is_recorded) {
    kymo::stop_capture();
    const char* const file = options->record.empty() ? "FILE" : options->record.c_str();
    std::printf(
        "\nLook at it:\n"
        "  kymo stats %s                     the table of locks: who waited for the queue, and for whom\n"
        "  kymo stats --thread 'task 0' %s   one task alone, whichever workers ran it\n"
        "  kymo view %s                      tasks as rows of their own; workers show which task they ran when\n",
        file, file, file);
  } else {
    std::puts("\nNothing was recorded: give --record FILE, or set KYMO_RECORD.");
  }
  return 0;
}
