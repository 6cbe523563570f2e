#include "record/recorder/recorder.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/system/futex.hpp"
#include "base/system/message.hpp"
#include "record/clock/clock.hpp"
#include "record/names/function_namer.hpp"
#include "record/platform/platform.hpp"
#include "record/recorder/ending_signals.hpp"
#include "record/recorder/frame_metrics.hpp"
#include "record/recorder/gate.hpp"

namespace kymo::record {

namespace {

base::SayOnce say_start_failure;
base::SayOnce say_own_namespace;
base::SayOnce say_second_copy;
base::SayOnce say_not_kill_proof;
base::SayOnce say_small_pool;

}  // namespace

constinit detail_of_recorder::Immortal detail_of_recorder::immortal;

bool Recorder::start(const RecorderOptions& options) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (collector_ != nullptr || is_child_pending_.load(std::memory_order_relaxed)) {
      return !is_shut_down_;
    }
    if (is_shut_down_ || is_refused_) {
      return false;
    }
    const bool is_first = options_ == nullptr;
    if (is_first) {
      options_ = new RecorderOptions(options);  // lives as long as the process
      sites_.use(options_->sites.empty() ? nullptr : options_->sites.c_str());
    }
    const bool is_started = start_locked(false);
    if (!is_started && is_first) {
      // The module of an inactive copy can be unloaded, which would leak what it still held.
      sites_.use(nullptr);
      delete std::exchange(options_, nullptr);
    }
    return is_started;
  } catch (const std::exception& failure) {
    say_start_failure(failure.what());
    return false;
  }
}

bool Recorder::start_locked(bool is_child) noexcept {
  try {
    begin_counter_step();
    if (is_in_own_namespace()) {
      say_own_namespace("dlmopen() loaded this copy of the recorder; it stays off");
      is_refused_ = true;
      return false;
    }
    if (claim_.get() < 0 && !claim_process(claim_)) {
      say_second_copy("another copy of the recorder is active in this process; this one stays off");
      is_refused_ = true;
      return false;
    }
    mark_process();
    PoolOptions pool_options = options_->pool;
    pool_options.is_on_demand = is_child;
    std::unique_ptr<Pool> pool = Pool::create(pool_options);
    if (pool->backing() == PoolBacking::private_memory && !pool->complaint().empty()) {
      say_not_kill_proof("not kill-proof: " + pool->complaint() +
                         "; what a killed process had not written yet is lost");
    }
    if (const std::uint64_t bytes = std::uint64_t{pool->most_chunks()} * chunk_bytes;
        pool_options.bytes > default_pool_bytes && bytes < pool_options.bytes / 2) {
      say_small_pool("the pool has " + std::to_string(bytes >> 20U) + " MiB, half of what is free, instead of " +
                     std::to_string(pool_options.bytes >> 20U));
    }
    pool->header().counter_step_ns = counter_step_ns();
    declarations_.attach(*pool);
    CollectorOptions collector_options;
    const auto frames = std::make_shared<FrameMetrics>(*this);
    collector_options.add_metrics = [frames](EventBatch& batch, SampleGatherer& samples) {
      frames->add(batch, samples);
    };
    collector_options.observer = &observer_;
    collector_options.find_ended = options_->find_ended;
    collector_options.on_look = watch_later_signals;
    collector_options.on_step = options_->on_step;
    collector_options.name_hooked_sites = name_hooked_sites;
    collector_options.on_sinks = [this, frames, header = &pool->header()](bool has_sinks, bool is_saved) {
      frames->forget();
      // Once the last sink is removed, the spool of a process that ends by _exit is unused: the next process deletes
      // it.
      header->is_saved.store(!has_sinks && is_saved ? 1 : 0, std::memory_order_release);
      is_on_.store(has_sinks, std::memory_order_seq_cst);
      update_gate();
    };
    try {
      auto collector = std::make_unique<Collector>(*pool, known_before_fork_, std::move(collector_options));
      collector->start(is_child);
      collector_ = collector.release();
    } catch (...) {
      declarations_.detach();
      pool->remove_spool();
      throw;
    }
    // Both live as long as the process: threads hold pointers into the pool.
    pool_.store(pool.release(), std::memory_order_seq_cst);
    take_drops_without_pool();
    if (!options_->wants_scopes) {
      switch_scopes_off(ScopesOff::never_wanted);
    }
    return true;
  } catch (const std::exception& failure) {
    say_start_failure(std::string("recording is off: ") + failure.what());
  } catch (...) {
    say_start_failure("recording is off: it could not be started");
  }
  return false;
}

std::uint64_t Recorder::add_sink(std::shared_ptr<Sink> sink) noexcept {
  try {
    settle_child();
    Collector* const current = collector();
    if (current == nullptr) {
      return 0;
    }
    const bool wants_scopes =
        (scopes_off_.load(std::memory_order_relaxed) & static_cast<std::uint32_t>(ScopesOff::never_wanted)) == 0;
    if (void (*const prepare)() = prepare_.load(std::memory_order_acquire); prepare != nullptr && wants_scopes) {
      prepare();
    }
    const std::uint64_t handle = current->add_sink(std::move(sink), wait_for_collector);
    if (handle == 0) {
      base::say("a sink could not be installed: the collector does not answer");
    }
    return handle;
  } catch (const std::exception& failure) {
    base::say(failure.what());
  } catch (...) {
    base::say("a sink could not be installed");
  }
  return 0;
}

bool Recorder::remove_sink(std::uint64_t handle) noexcept {
  try {
    Collector* const current = collector();
    return current != nullptr && current->remove_sink(handle, wait_for_collector);
  } catch (...) {
    return false;
  }
}

bool Recorder::remove_all_sinks() noexcept {
  try {
    Collector* const current = collector();
    return current == nullptr || current->remove_all_sinks(wait_for_collector);
  } catch (...) {
    base::say("sinks could not be removed");
    return false;
  }
}

bool Recorder::flush(std::chrono::nanoseconds timeout) noexcept {
  try {
    settle_child();
    Collector* const current = collector();
    return current == nullptr || current->flush(timeout);
  } catch (...) {
    return false;
  }
}

bool Recorder::has_sink(std::uint64_t handle) noexcept {
  Collector* const current = collector();
  return current != nullptr && current->has_sink(handle);
}

bool Recorder::is_in_sink() noexcept {
  const Collector* const current = collector();
  return current != nullptr && current->is_own_thread();
}

namespace {

/// Sends the collector a request through shared memory and waits for the answer. Async-signal-safe.
bool ask(Pool& pool, std::atomic<std::uint32_t>& requests, std::atomic<std::uint32_t>& done, std::int64_t timeout_ns) {
  const std::uint32_t ticket = requests.fetch_add(1, std::memory_order_seq_cst) + 1;
  pool.wake_collector();
  const std::uint64_t deadline = monotonic_ns() + static_cast<std::uint64_t>(timeout_ns);
  for (;;) {
    const std::uint32_t answered = done.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(answered - ticket) >= 0) {
      return true;
    }
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) {
      return false;
    }
    base::futex_wait(done, answered, static_cast<std::int64_t>(deadline - now));
  }
}

}  // namespace

bool Recorder::trigger(std::chrono::nanoseconds timeout) noexcept {
  Pool* const current = pool();
  if (current == nullptr || is_child_pending_.load(std::memory_order_relaxed)) {
    return false;
  }
  SpoolHeader& header = current->header();
  return ask(*current, header.trigger_requests, header.trigger_done, timeout.count());
}

/// Whether signals of this process ask its collector: a child made without fork handlers still has its parent's pool.
bool Recorder::answers_signals() noexcept {
  Pool* const current = pool();
  return current != nullptr && current->header().owner_pid == static_cast<std::uint64_t>(::getpid());
}

void Recorder::write_before_crash(std::chrono::nanoseconds timeout) noexcept {
  if (!answers_signals()) {
    return;
  }
  Pool* const current = pool();
  if (is_on() && !is_child_pending_.load(std::memory_order_relaxed)) {
    SpoolHeader& header = current->header();
    static_cast<void>(ask(*current, header.crash_requests, header.crash_done, timeout.count()));
  }
}

void Recorder::finish_before_end(std::chrono::nanoseconds timeout) noexcept {
  if (!answers_signals()) {
    return;
  }
  Pool* const current = pool();
  if (is_on() && !is_child_pending_.load(std::memory_order_relaxed)) {
    SpoolHeader& header = current->header();
    static_cast<void>(ask(*current, header.end_requests, header.end_done, timeout.count()));
  }
  // The signal came while the process was ending: this thread may be the one that waits for the collector.
  const std::uint64_t deadline = monotonic_ns() + static_cast<std::uint64_t>(timeout.count());
  while (is_finishing_.load(std::memory_order_acquire) &&
         current->header().is_saved.load(std::memory_order_acquire) == 0 && monotonic_ns() < deadline) {
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

void Recorder::shut_down() noexcept {
  try {
    Collector* current = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (is_shut_down_) {
        return;
      }
      is_shut_down_ = true;
      current = collector();
    }
    is_finishing_.store(current != nullptr && is_on(), std::memory_order_release);
    is_on_.store(false, std::memory_order_seq_cst);
    update_gate();
    if (current == nullptr) {
      return;
    }
    const bool is_saved = current->stop(wait_for_collector);
    if (is_saved) {
      pool()->header().is_saved.store(1, std::memory_order_release);
    }
    // A trace that could not be finished is no capture, and has said so.
    if (is_saved || pool()->header().capture_path[0] == '\0') {
      pool()->remove_spool();
    } else {
      base::say("the process ends before its capture is written: `kymo recover` makes it whole");
    }
  } catch (...) {
    base::say("the recorder could not be shut down");
  }
}

void Recorder::update_gate() noexcept {
  update_gate_to(kymo_scopes_on_v1, [this]() -> std::uint32_t {
    return is_on_.load(std::memory_order_seq_cst) && scopes_off_.load(std::memory_order_seq_cst) == 0 ? 1 : 0;
  });
}

bool Recorder::leaves_out(kymo_site& site) const noexcept {
  // A thread that saw scopes on has not necessarily seen the setup before.
  static_cast<void>(kymo_scopes_on_v1.load(std::memory_order_acquire));
  const bool is_left_out = sites_.is_set() && !sites_.takes(site);
  if (is_left_out) {
    mark_left_out(site);
  }
  return is_left_out;
}

void Recorder::switch_scopes_off(ScopesOff reason) noexcept {
  scopes_off_.fetch_or(static_cast<std::uint32_t>(reason), std::memory_order_seq_cst);
  update_gate();
}

void Recorder::switch_scopes_on(ScopesOff reason) noexcept {
  scopes_off_.fetch_and(~static_cast<std::uint32_t>(reason), std::memory_order_seq_cst);
  update_gate();
}

void Recorder::count_frame() noexcept {
  const RecorderOptions* const options = options_;
  if (options == nullptr || (options->scope_every <= 1 && options->scope_max_frames == 0)) {
    return;
  }
  const std::uint64_t frames = frames_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (options->scope_max_frames != 0 && frames >= options->scope_max_frames) {
    switch_scopes_off(ScopesOff::frame_limit);
  }
  if (options->scope_every > 1) {
    if (frames % options->scope_every == 0) {
      switch_scopes_on(ScopesOff::skipped_frame);
    } else {
      switch_scopes_off(ScopesOff::skipped_frame);
    }
  }
}

std::uint32_t Recorder::id_of(NameSpace space, std::string_view text, std::string_view detail) noexcept {
  InternedName* const name = names_.find_or_insert(space, text);
  return name != nullptr ? declarations_.declare(*name, detail) : 0;
}

MetricId Recorder::describe_metric(const MetricDescription& description) noexcept {
  // Labels distinguish metrics of the same name, so the key is made of both.
  char key[InternTable::longest_text];
  std::size_t size = 0;
  const auto put = [&](std::string_view text) {
    const std::size_t kept = std::min(text.size(), sizeof key - size);
    std::copy_n(text.data(), kept, key + size);
    size += kept;
  };
  put(description.name);
  for (std::size_t i = 0; i < std::min(description.label_count, most_metric_labels); ++i) {
    put("\n");
    put(description.labels[i].key);
    put("=");
    put(description.labels[i].value);
  }
  InternedName* const metric = names_.find_or_insert(NameSpace::metric, {key, size});
  return MetricId{metric != nullptr ? declarations_.describe(*metric, description) : 0};
}

void Recorder::count_dropped_without_track(Dropped kind) noexcept {
  dropped_without_pool_.of(kind).fetch_add(1, std::memory_order_seq_cst);
  take_drops_without_pool();
}

/// Whoever sees both the pool and a drop takes it: the one that counts, or the one that starts the pool.
void Recorder::take_drops_without_pool() noexcept {
  if (Pool* const current = pool_.load(std::memory_order_seq_cst)) {
    SpoolDrops& counts = current->header().dropped_without_track;
    for (const Dropped kind : {Dropped::scope, Dropped::other}) {
      counts.of(kind).fetch_add(dropped_without_pool_.of(kind).exchange(0, std::memory_order_seq_cst),
                                std::memory_order_relaxed);
    }
  }
}

}  // namespace kymo::record
