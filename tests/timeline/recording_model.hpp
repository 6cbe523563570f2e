// A made-up recording: what happened, noted as it is made up, and the batches that a recorder would write of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "capture/write/capture_writer.hpp"

namespace kymo::test {

/// A span that really happened.
struct TrueSpan {
  std::string track;
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< of an open one: the end of the recording
  std::int64_t self_ns = 0;
  unsigned depth = 0;
  bool is_open = false;
  bool is_unbalanced = false;
  std::vector<std::string> arguments;  ///< "name=value"
};

struct TrueRecording {
  std::vector<TrueSpan> spans;
  std::vector<std::int64_t> frame_marks;
  std::vector<std::pair<std::int64_t, double>> samples;
  std::vector<std::pair<std::int64_t, std::string>> messages;
  std::vector<std::pair<std::int64_t, std::uint64_t>> sync_points;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t dropped_scopes = 0;  ///< of the first thread
};

struct ModelOptions {
  std::uint32_t seed = 1;
  unsigned threads = 3;
  unsigned steps = 2000;  ///< things that happen, over all threads
  std::int64_t start_ns = 1'000'000'000;
  std::string prefix = {};  ///< of names, so that captures can be told apart
  std::uint64_t pid = 100;
  std::string host = "here";
  std::string boot_id = "boot-1";
  std::int64_t wall_clock_offset_ns = 1'700'000'000'000'000'000;  ///< wall clock less monotonic
  std::int64_t anchor_bound_ns = 300;
  bool closes_all = false;  ///< no scope is left open
  bool lags = false;        ///< drains are long, and the words of each thread fill batches of their own
};

/// Makes up a recording and cuts it into batches.
class RecordingModel {
 public:
  /// Drops a scope with each batch. Behind the prefix.
  static constexpr std::string_view dropping_thread = "thread 0";

  explicit RecordingModel(const ModelOptions& options);

  [[nodiscard]] const TrueRecording& truth() const { return truth_; }
  [[nodiscard]] const std::vector<EventBatch>& batches() const { return batches_; }
  [[nodiscard]] capture::CaptureWriterOptions writer_options() const;

  /// Writes a capture; without closing it where `finish` is false.
  [[nodiscard]] std::vector<std::byte> write(bool finish = true) const;
  std::string write_file(const std::string& path, bool finish = true) const;

 private:
  struct OpenTruth {
    TrueSpan span;
    std::int64_t inner_ns = 0;
  };
  struct Thread {
    TrackId track;
    std::string name;
    std::int64_t now_ns = 0;
    std::uint64_t sequence = 0;
    std::vector<OpenTruth> open;   // the truth about what is open
    std::vector<OpenScope> stack;  // the same as a recorder sees it
    ScopeRun run;                  // of the batch that is being made
  };

  void declare();
  void step();
  void open_scope(Thread& thread);
  void close_scope(Thread& thread);
  void add_argument(Thread& thread);
  void emit_late_span();
  void step_async();
  void cut();
  void split_last();
  void finish();
  ArgumentValue make_argument(std::string& text_form);
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  ModelOptions options_;
  std::mt19937_64 random_;
  TrueRecording truth_;
  std::vector<EventBatch> batches_;
  EventBatch batch_;
  std::vector<Thread> threads_;
  std::vector<SiteDeclaration> sites_;
  std::vector<NameDeclaration> names_;
  TrackId async_track_;
  TrackId queue_track_;
  std::int64_t now_ns_ = 0;
  std::uint64_t next_async_id_ = 1;
  std::vector<AsyncBegin> open_async_;
  std::uint64_t next_sync_ = 1;
};

/// The truth as a naive reader would filter it: spans of a track that overlap [start, end).
[[nodiscard]] std::vector<TrueSpan> overlapping(const TrueRecording& truth, const std::string& track,
                                                std::int64_t start_ns, std::int64_t end_ns);

}  // namespace kymo::test
