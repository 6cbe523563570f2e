// kymo record's recording of run states and stacks: what each thread of the command did, by the kernel's word.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "base/system/file.hpp"
#include "base/text/pattern_list.hpp"
#include "capture/write/capture_writer.hpp"
#include "threads/processes/process_spans.hpp"
#include "threads/stacks/stack_samples.hpp"
#include "threads/states/source.hpp"
#include "threads/states/switch_events.hpp"
#include "threads/states/thread_usage.hpp"

namespace kymo::command {

using threads::ThreadsMode;

/// Records the states and stacks of a command's threads, and a span for each of its processes, into a capture of their
/// own, on a thread of its own. If the kernel refuses its events, there are neither stacks nor spans, and each thread's
/// CPU time and waiting time are sampled instead of states, at the rate of the medium tier.
class RecordedThreads {
 public:
  /// `stacks_hz`: samples of stacks in a second of CPU time; 0: none.
  RecordedThreads(ThreadsMode mode, std::uint32_t stacks_hz, double medium_hz)
      : has_states_(mode != ThreadsMode::off),
        stacks_hz_(stacks_hz),
        medium_hz_(medium_hz),
        states_(has_states_),
        processes_(has_states_, base::wants_fact("command_line")) {}
  RecordedThreads(const RecordedThreads&) = delete;
  RecordedThreads& operator=(const RecordedThreads&) = delete;
  ~RecordedThreads();

  /// Call when the command's process exists and has executed nothing yet.
  void attach(pid_t command) { attach(command, false); }
  /// Takes a process that runs already. Nothing harms it.
  void attach_running(pid_t process) { attach(process, true); }
  /// Begins recording into the directory. Throws WriteError.
  void start(const std::string& directory);
  /// Records up to the present and closes the capture. Throws WriteError.
  void stop();

  /// The capture's path; empty if nothing is recorded.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has_states() const { return has_states_ && !path_.empty(); }
  [[nodiscard]] bool has_stacks() const { return stacks_ && !path_.empty(); }

 private:
  void attach(pid_t process, bool is_running);
  void attach_sampling(bool is_running);
  [[nodiscard]] threads::Refusal attach_events(bool is_running, const threads::EventChoice& choice);
  [[nodiscard]] bool has_events() const { return refusal_.error == 0 && (has_states_ || stacks_); }
  void open_writer(const std::string& directory);
  void run();
  void wait();
  void write_events(std::int64_t open_ns, bool is_last);
  void add_longest(EventBatch& batch) const;
  void write_usage();
  void write(const EventBatch& batch);

  bool has_states_;
  std::uint32_t stacks_hz_;
  double medium_hz_;
  pid_t command_ = -1;
  threads::SwitchEvents events_;
  threads::Refusal refusal_;
  std::string stacks_refused_;  // why there are no stacks
  bool has_unwinder_ = false;
  bool samples_kernel_ = false;
  bool samples_waits_ = false;
  threads::RunStates states_;
  std::optional<threads::StackSamples> stacks_;
  threads::ProcessSpans processes_;
  std::vector<threads::RecordTaker*> takers_;  // of the two above
  std::optional<threads::ThreadUsage> usage_;
  std::unique_ptr<capture::CaptureWriter> writer_;
  base::FileDescriptor stop_;  // an eventfd, readable from stop() on
  std::thread thread_;
  std::string path_;
  std::string failure_;  // of the latest write
};

}  // namespace kymo::command
