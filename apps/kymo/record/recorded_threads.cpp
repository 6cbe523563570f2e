#include "apps/kymo/record/recorded_threads.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <exception>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "base/system/clock.hpp"
#include "base/system/system.hpp"
#include "control/run_facts.hpp"
#include "threads/states/wake_tracepoint.hpp"

namespace kymo::command {

namespace {

constexpr int read_period_ms = 100;
constexpr std::uint32_t most_copied_bytes = std::uint32_t{32} << 10U;
/// States that last are cut after this time, so that a reader of a growing capture sees them, and few blocks reach far
/// back.
constexpr std::int64_t most_open_ns = 1'000'000'000;

/// Why there are none, `kymo doctor` says.
std::optional<threads::WakeTracepoint> find_wakes() {
  threads::Refusal unused;
  return threads::find_wake_tracepoint(unused);
}

}  // namespace

RecordedThreads::~RecordedThreads() {
  try {
    stop();
  } catch (const std::exception& failure) {
    say("kymo: {}\n", printable(failure.what()));
  }
}

threads::Refusal RecordedThreads::attach_events(bool is_running, const threads::EventChoice& choice) {
  return is_running ? events_.attach_running(command_, choice) : events_.attach(command_, choice);
}

void RecordedThreads::attach(pid_t process, bool is_running) {
  command_ = process;
  if (stacks_hz_ != 0) {
    attach_sampling(is_running);
  }
  if (has_states_ && !stacks_) {
    threads::EventChoice choice;
    choice.wakes = find_wakes();
    refusal_ = attach_events(is_running, choice);
  }
}

/// Both come through the same rings, in one order.
void RecordedThreads::attach_sampling(bool is_running) {
  auto unwinder = std::make_unique<threads::Unwinder>();
  threads::EventChoice choice{has_states_, stacks_hz_, true, has_states_,
                              unwinder->is_running() ? most_copied_bytes : 0};
  if (has_states_) {
    choice.wakes = find_wakes();
  }
  refusal_ = attach_events(is_running, choice);
  if (refusal_.error == EACCES || refusal_.error == EPERM) {
    choice.samples_kernel = choice.samples_waits = false;
    refusal_ = attach_events(is_running, choice);
  }
  if (refusal_.error == 0) {
    has_unwinder_ = unwinder->is_running();
    stacks_.emplace(std::move(unwinder), choice.samples_waits);
    stacks_->set_meanwhile([this] { events_.make_room(); });
    states_.set_read_wait([this](std::span<const std::uint64_t> chain) { return stacks_->read_wait(chain); });
    samples_kernel_ = choice.samples_kernel;
    samples_waits_ = choice.samples_waits;
    return;
  }
  stacks_refused_ = refusal_.reason;
  say("kymo: no stacks are recorded: {}{}{}\n", printable(refusal_.reason), refusal_.advice.empty() ? "" : "; needs ",
      printable(refusal_.advice));
}

void RecordedThreads::open_writer(const std::string& directory) {
  capture::CaptureWriterOptions options;
  options.header.recorder = "kymo " KYMO_VERSION;
  options.header.clock_source = "clock_monotonic";
  options.header.clock_step_ns = 1;
  options.header.owner_pid = static_cast<std::uint64_t>(::getpid());
  options.declarations = control::describe_run();
  const auto add = [&options](const char* key, std::string value) {
    options.declarations.infos.push_back({ProcessId{1}, key, std::move(value)});
  };
  if (has_states_) {
    add("threads.source", refusal_.error == 0 ? "perf_event_open" : "schedstat (coarse)");
    if (refusal_.error != 0) {
      add("threads.refused", refusal_.reason);
    } else {
      add("threads.wakes", events_.has_wakes() ? "recorded" : "not recorded");
    }
  }
  if (stacks_) {
    add("stacks.hz", std::to_string(stacks_hz_));
    add("stacks.callers", has_unwinder_ ? "call frame information" : "frame pointers");
    add("stacks.kernel", samples_kernel_ ? "sampled" : "not permitted");
    add("stacks.waits", samples_waits_ ? "recorded" : !has_states_ ? "off" : "not permitted");
  } else if (stacks_hz_ != 0) {
    add("stacks.refused", stacks_refused_);
  }
  // The name sorts after those of the command's processes and of the machine, whose process this is.
  writer_ = std::make_unique<capture::CaptureWriter>(directory + "/~threads.kymo", std::move(options));
  path_ = writer_->path();
}

void RecordedThreads::start(const std::string& directory) {
  const bool has_usage = !has_events() && has_states_ && medium_hz_ > 0;
  if (command_ < 0 || !(has_events() || has_usage)) {
    return;
  }
  open_writer(directory);
  if (has_usage) {
    usage_.emplace(command_);
  }
  takers_ = {&processes_};
  if (stacks_) {
    takers_.push_back(&*stacks_);
  }
  stop_ = base::FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([this] { run(); });
}

void RecordedThreads::wait() {
  std::vector<pollfd> polled;
  int timeout_ms = read_period_ms;
  if (usage_) {
    timeout_ms = static_cast<int>(std::ceil(1000 / medium_hz_));
  } else {
    polled = events_.polled();
    timeout_ms = events_.most_wait_ms(timeout_ms);
  }
  polled.push_back({stop_.get(), POLLIN, 0});
  ::poll(polled.data(), polled.size(), timeout_ms);
  events_.note_polled(polled);
  if (polled.back().revents != 0) {
    stop_.reset();
  }
}

void RecordedThreads::run() {
  // Among many busy threads an ordinary one gets too little time to read what the kernel tells of them. Few may ask for
  // more than others.
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, -20));
  while (stop_) {
    wait();
    if (usage_) {
      write_usage();
    } else {
      events_.read(states_, takers_);
      processes_.look();
      write_events(most_open_ns, false);
    }
  }
  if (!usage_) {
    events_.read_last(states_, takers_);
    write_events(0, true);
  }
  writer_->set_closing_fact("threads_cpu_ns", static_cast<std::uint64_t>(base::thread_cpu_ns()));
}

/// Which processes took long, for the first lines of `kymo stats`.
void RecordedThreads::add_longest(EventBatch& batch) const {
  constexpr std::size_t most = 3;
  constexpr std::size_t width = 60;
  std::string text;
  for (const threads::ProcessSpans::Ended& process : processes_.longest(most)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", format_duration(static_cast<double>(process.duration_ns)),
                        cut_middle(process.command, width));
  }
  const auto add = [&batch](const char* key, std::string value) {
    batch.declarations.infos.push_back({ProcessId{1}, key, std::move(value)});
  };
  add("record.processes", std::to_string(processes_.started()));
  add("record.processes_at_once", std::to_string(processes_.most_at_once()));
  if (!text.empty()) {
    add("longest_processes", std::move(text));
  }
}

void RecordedThreads::write_events(std::int64_t open_ns, bool is_last) {
  EventBatch batch;
  states_.collect(events_.complete_until_ns(), open_ns, batch);
  if (stacks_) {
    stacks_->collect(batch, is_last);
  }
  processes_.collect(events_.complete_until_ns(), is_last, batch);
  if (is_last && processes_.started() > 1) {
    add_longest(batch);
  }
  if (!batch.states.empty() || !batch.wakes.empty() || !batch.stack_samples.empty() || !batch.spans.empty() ||
      !batch.declarations.empty()) {
    write(batch);
  }
}

void RecordedThreads::write_usage() {
  EventBatch batch;
  usage_->read(base::monotonic_now_ns(), batch);
  if (!batch.samples.empty()) {
    write(batch);
  }
}

/// A full disk costs what cannot be written meanwhile; the writer counts it.
void RecordedThreads::write(const EventBatch& batch) {
  try {
    writer_->write(batch);
    failure_.clear();
  } catch (const std::exception& failure) {
    failure_ = failure.what();
  }
}

void RecordedThreads::stop() {
  if (!thread_.joinable()) {
    return;
  }
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_.get(), &one, sizeof one));
  thread_.join();
  if (!usage_) {
    writer_->set_closing_fact("threads_switches", states_.switches());
    writer_->set_closing_fact("threads_lost_records", events_.lost_records() + states_.unfollowed());
    writer_->set_closing_fact("threads_overruns", events_.overruns());
    if (stacks_) {
      writer_->set_closing_fact("stacks_samples", stacks_->samples());
      writer_->set_closing_fact("stacks_left_out", stacks_->left_out());
      writer_->set_closing_fact("stacks_waits", stacks_->waits());
      writer_->set_closing_fact("stacks_lost", events_.lost_samples());
      writer_->set_closing_fact("stacks_overruns", events_.sample_overruns());
    }
  }
  const auto writer = std::move(writer_);
  writer->finish();
  if (!failure_.empty()) {
    say("kymo: warning: {}: run states and stacks are missing\n", printable(failure_));
  }
}

}  // namespace kymo::command
