#include "control/capture_sink.hpp"

#include <cstdio>
#include <stdexcept>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "capture/recover/spool_file.hpp"
#include "control/cost.hpp"
#include "control/run_facts.hpp"
#include "record/clock/clock.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::control {

namespace {

using record::Recorder;

CaptureHeader describe_capture(const record::Pool* pool) {
  CaptureHeader header;
  header.recorder = std::string("kymo ") + version();
  header.clock_source = record::counter_name();
  header.clock_step_ns = record::clock_step_ns();
  header.owner_pid = static_cast<std::uint64_t>(::getpid());
  if (pool != nullptr && pool->backing() != record::PoolBacking::private_memory) {
    header.spool_id = pool->spool_id();
  }
  return header;
}

/// Facts for recovery: the location of the spool, and where the process is visible.
void add_whereabouts(const record::Pool* pool, Declarations& facts) {
  struct stat status {};
  std::string device = capture::private_memory;
  if (pool != nullptr && pool->backing() == record::PoolBacking::held_memfd) {
    device = capture::held_memory;
  } else if (pool != nullptr && ::stat(pool->spool_path().c_str(), &status) == 0) {
    device = std::to_string(status.st_dev);
  }
  facts.infos.push_back({ProcessId{1}, capture::spool_device_key, std::move(device)});
  if (std::string own = capture::own_pid_namespace(); !own.empty()) {
    facts.infos.push_back({ProcessId{1}, capture::pid_namespace_key, std::move(own)});
  }
}

/// The writer's own count ends with a killed process.
void note_unwritten(record::Pool& pool, const TrackTotals& unwritten) {
  pool.header().unwritten.store({unwritten.dropped_scopes, unwritten.dropped_others});
}

/// Notes the capture in the spool, for whoever finds the spool of a killed process.
void name_capture_in_spool(record::Pool& pool, const std::string& path) {
  record::SpoolHeader& header = pool.header();
  std::snprintf(static_cast<char*>(header.capture_path), sizeof header.capture_path, "%s",
                base::resolve_links(path).c_str());
  note_unwritten(pool, TrackTotals());
}

/// While it lives, the spool says that the end of a capture may be torn.
class WriteInSpool {
 public:
  explicit WriteInSpool(record::Pool* pool) : pool_(pool) {
    if (pool_ != nullptr) {
      pool_->header().writing.fetch_add(1, std::memory_order_acq_rel);
    }
  }
  WriteInSpool(const WriteInSpool&) = delete;
  WriteInSpool& operator=(const WriteInSpool&) = delete;
  ~WriteInSpool() {
    if (pool_ != nullptr) {
      pool_->header().writing.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void say_failed(bool has_failed) {
    if (pool_ != nullptr && has_failed) {
      pool_->header().writing.fetch_or(record::SpoolHeader::has_failed, std::memory_order_acq_rel);
    } else if (pool_ != nullptr) {
      pool_->header().writing.fetch_and(~record::SpoolHeader::has_failed, std::memory_order_acq_rel);
    }
  }

 private:
  record::Pool* pool_;
};

/// CPU time of the collector's thread so far.
std::uint64_t collector_cpu_ns(Recorder& recorder) {
  const record::Collector* const collector = recorder.collector();
  return collector != nullptr ? collector->cpu_time_ns() : 0;
}

}  // namespace

CaptureSink::CaptureSink(record::Recorder& recorder, const CaptureOptions& options, Declarations declarations,
                         std::unique_ptr<FollowedCapture> followed)
    : recorder_(recorder),
      owner_(static_cast<std::uint64_t>(::getpid())),
      followed_(std::move(followed)),
      max_bytes_(options.max_bytes),
      collector_cpu_before_ns_(collector_cpu_ns(recorder)) {
  add_whereabouts(recorder.pool(), declarations);
  capture::CaptureWriterOptions writer_options;
  writer_options.header = describe_capture(recorder.pool());
  writer_options.declarations = std::move(declarations);
  writer_options.sync_period = options.sync_period;
  if (options.keep_duration.count() > 0 || options.keep_bytes > 0) {
    capture::BlockRingOptions ring;
    ring.spool_id = writer_options.header.spool_id;
    ring.duration = options.keep_duration;
    ring.promised_bytes = recorder.pool() != nullptr ? recorder.pool()->header().total_bytes : 0;
    ring.capacity_bytes = options.keep_bytes != 0 ? options.keep_bytes : ring.capacity_bytes;
    writer_options.ring = std::make_unique<capture::BlockRing>(ring);
    is_flight_recorder_ = true;
    if (!writer_options.ring->survives_kill()) {
      base::say("the flight recorder found no room in shared memory: kill -9 loses what it holds");
    }
  }
  // A kill here leaves an empty file, or one with a header alone: nothing that its spool would have to complete.
  writer_ = std::make_unique<capture::CaptureWriter>(std::string(options.path), std::move(writer_options));
  path_ = writer_->path();
  file_ = base::id_of(path_);
  if (recorder.pool() != nullptr) {
    name_capture_in_spool(*recorder.pool(), path());
  }
}

/// A full disk does not end the capture: losses are counted, and stated once there is room.
template <typename Write>
void CaptureSink::try_to(Write write) {
  WriteInSpool note(recorder_.pool());
  try {
    write();
    has_failed_.store(false, std::memory_order_relaxed);
    note.say_failed(false);
  } catch (const capture::WriteError& failure) {
    has_failed_.store(true, std::memory_order_relaxed);
    note.say_failed(true);
    if (!std::exchange(is_failure_said_, true)) {
      base::say(failure.what());
    }
  }
}

void CaptureSink::write(const EventBatch& batch) {
  try_to([&] { limit_ ? writer_->write(limit_->without_scopes(batch)) : writer_->write(batch); });
  if (recorder_.pool() != nullptr) {
    note_unwritten(*recorder_.pool(), writer_->unwritten());
  }
  if (max_bytes_ != 0 && !limit_ && writer_->bytes_written() >= max_bytes_) {
    recorder_.switch_scopes_off(record::ScopesOff::size_limit);
    base::say("the capture has reached KYMO_MAX_SIZE: scopes stop, metrics go on");
    // The pool may hold many times the limit of scopes that wait to be written.
    limit_.emplace();
    // At once: what is kept for the closing words, a kill takes along.
    EventBatch stating;
    stating.start_ns = stating.end_ns = batch.end_ns;
    stating.declarations.infos.push_back({ProcessId{1}, "scopes_stopped", std::to_string(writer_->bytes_written())});
    try_to([&] { writer_->write(stating); });
  }
}

void CaptureSink::trigger() {
  try_to([this] { writer_->write_held(); });
}

void CaptureSink::finish() {
  recorder_.switch_scopes_on(record::ScopesOff::size_limit);
  writer_->set_closing_fact("collector_cpu_ns", collector_cpu_ns(recorder_) - collector_cpu_before_ns_);
  writer_->set_closing_fact("empty_scope_ps", static_cast<std::uint64_t>(measure_empty_scope_ns() * 1e3));
  try_to([this] { writer_->finish(); });
  // What exceeds a size limit is dropped too, and was announced.
  if (const std::uint64_t dropped = writer_->dropped_scopes(); dropped != 0 && !limit_) {
    base::say(
        std::to_string(dropped) +
        " scopes were dropped. For want of memory? KYMO_BUFFER=64MB or more gives it, KYMO_SITES records fewer scopes. "
        "Deep nesting, signal handlers, too many names and a full disk drop scopes as well; `kymo info` says which "
        "threads dropped them");
  }
  const TrackTotals& unwritten = writer_->unwritten();
  if (unwritten.dropped_scopes != 0 || unwritten.dropped_others != 0) {
    base::say("there was no room for " + std::to_string(unwritten.dropped_scopes) + " scopes and " +
              std::to_string(unwritten.dropped_others) + " other events in the capture " + path() +
              (has_failed() ? ", nor for its end" : ""));
  }
  writer_.reset();
  if (followed_) {
    followed_->leave();
  }
  is_finished_.store(true, std::memory_order_release);
  if (has_failed()) {
    // Else the spool would count as saved.
    throw std::runtime_error("the end of " + path() + " could not be written");
  }
}

std::unique_ptr<FollowedCapture> CaptureSink::followed_by_child() const {
  if (followed_) {
    return followed_->for_child();
  }
  // A program that hands its recording down names itself. The path in the variable may not be there yet.
  const char* const is_handed_down = base::trusted_variable("KYMO_FOLLOW");
  return is_handed_down != nullptr && *is_handed_down != '\0' && starter_process() == owner_
             ? std::make_unique<FollowedCapture>(path_, file_)
             : nullptr;
}

}  // namespace kymo::control
