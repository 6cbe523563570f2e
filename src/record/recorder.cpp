#include "record/recorder.hpp"

#include <exception>
#include <string>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "base/message.hpp"
#include "record/clock.hpp"
#include "record/fiber.hpp"
#include "record/function_hooks.hpp"
#include "record/gate.hpp"
#include "record/track_writer.hpp"

namespace kymo::record {

namespace {

pthread_key_t thread_end_key;
bool has_thread_end_key = false;
pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

void on_thread_end(void* /*mark*/) {
  detach_thread();
}

base::SayOnce say_start_failure;
base::SayOnce say_second_copy;
base::SayOnce say_not_kill_proof;

}  // namespace

constinit detail_of_recorder::Immortal detail_of_recorder::immortal;

bool Recorder::start(const RecorderOptions& options) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (collector_ != nullptr || is_child_pending_.load(std::memory_order_relaxed)) {
      return true;
    }
    if (is_shut_down_ || is_refused_) {
      return false;
    }
    const bool is_first = options_ == nullptr;
    if (is_first) {
      options_ = new RecorderOptions(options);  // lives as long as the process
      sites_.use(options_->sites.empty() ? nullptr : options_->sites.c_str());
    }
    const bool is_started = start_locked();
    if (!is_started && is_first) {
      // The module of a copy that stays off can be unloaded: what it still held then would be lost.
      sites_.use(nullptr);
      delete std::exchange(options_, nullptr);
    }
    return is_started;
  } catch (const std::exception& failure) {
    say_start_failure(failure.what());
    return false;
  }
}

bool Recorder::start_locked() noexcept {
  try {
    if (!claim_process()) {
      say_second_copy("another copy of the recorder is active in this process; this one stays off");
      is_refused_ = true;
      return false;
    }
    std::unique_ptr<Pool> pool = Pool::create(options_->pool);
    if (pool->backing() == PoolBacking::private_memory && !pool->complaint().empty()) {
      say_not_kill_proof("not kill-proof: " + pool->complaint() +
                         "; what a killed process had not written yet is lost");
    }
    pool->header().counter_step_ns = counter_step_ns();
    declarations_.attach(*pool);
    CollectorOptions collector_options;
    collector_options.declare_metric = [this](std::string_view name, std::string_view unit) {
      return id_of(NameSpace::metric, name, unit);
    };
    collector_options.on_step = options_->on_step;
    collector_options.name_hooked_sites = name_hooked_sites;
    collector_options.on_last_sink_gone = [this] {
      is_on_.store(false, std::memory_order_seq_cst);
      update_gate();
    };
    Declarations known;
    if (known_before_fork_ != nullptr) {
      known = *known_before_fork_;
    }
    auto collector = std::make_unique<Collector>(*pool, std::move(known), std::move(collector_options));
    collector->start();
    collector_ = collector.release();
    // Both live as long as the process: threads hold pointers into the pool.
    pool_.store(pool.release(), std::memory_order_release);
    if (!has_process_hooks_) {
      has_process_hooks_ = true;
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
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
    static_cast<void>(pool_for_events());
    const std::lock_guard lock(mutex_);
    if (collector_ == nullptr) {
      return 0;
    }
    const std::uint64_t handle = collector_->add_sink(std::move(sink));
    pool()->header().is_saved.store(0, std::memory_order_relaxed);
    is_on_.store(true, std::memory_order_seq_cst);
    update_gate();
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
    const std::lock_guard lock(mutex_);
    const bool was_on = is_on();
    const bool is_removed = collector_ != nullptr && collector_->remove_sink(handle);
    note_if_saved(was_on && is_removed);
    return is_removed;
  } catch (...) {
    return false;
  }
}

void Recorder::remove_all_sinks() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const bool was_on = is_on();
    if (collector_ != nullptr) {
      collector_->remove_all_sinks();
    }
    note_if_saved(was_on);
  } catch (...) {
    base::say("sinks could not be removed");
  }
}

/// After the last sink was removed, the spool of a process that ends by _exit is nobody's: the next one deletes it.
void Recorder::note_if_saved(bool is_sink_removed) noexcept {
  Pool* const current = pool();
  if (is_sink_removed && !is_on() && current != nullptr) {
    current->header().is_saved.store(1, std::memory_order_release);
  }
}

bool Recorder::flush(std::chrono::nanoseconds timeout) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    return collector_ == nullptr || collector_->flush(timeout);
  } catch (...) {
    return false;
  }
}

namespace {

/// Asks the collector through shared memory and waits for the answer. Async-signal-safe.
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
    futex_wait(done, answered, static_cast<std::int64_t>(deadline - now));
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

void Recorder::write_before_crash(std::chrono::nanoseconds timeout) noexcept {
  Pool* const current = pool();
  if (current != nullptr && is_on() && !is_child_pending_.load(std::memory_order_relaxed)) {
    SpoolHeader& header = current->header();
    static_cast<void>(ask(*current, header.crash_requests, header.crash_done, timeout.count()));
  }
}

void Recorder::shut_down() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    is_shut_down_ = true;
    is_on_.store(false, std::memory_order_seq_cst);
    update_gate();
    if (is_child_pending_.load(std::memory_order_relaxed)) {
      return;
    }
    delete collector_;
    collector_ = nullptr;
    if (Pool* const current = pool()) {
      current->header().is_saved.store(1, std::memory_order_release);
      current->remove_spool();
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
  // Who saw scopes on need not have seen what was set up before.
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
  // Metrics of one name are told apart by their labels: both make up the name to look for.
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
  return metric != nullptr ? declarations_.describe(*metric, description) : 0;
}

void Recorder::count_dropped_without_track() noexcept {
  if (Pool* const current = pool()) {
    current->header().dropped_without_track.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::watch_thread_end() noexcept {
  ::pthread_once(&thread_end_once,
                 [] { has_thread_end_key = ::pthread_key_create(&thread_end_key, on_thread_end) == 0; });
  if (has_thread_end_key) {
    ::pthread_setspecific(thread_end_key, this);
  }
}

void Recorder::start_in_child() noexcept {
  // Set on the thread that starts it, so that on_child can install sinks while other threads wait.
  static __thread bool is_starting = false;
  if (is_starting) {
    return;
  }
  const std::lock_guard child_lock(child_mutex_);
  if (!is_child_pending_.load(std::memory_order_relaxed)) {
    return;
  }
  is_starting = true;
  bool is_started = false;
  {
    const std::lock_guard lock(mutex_);
    is_on_.store(false, std::memory_order_seq_cst);
    is_started = start_locked();
  }
  if (is_started && options_->on_child) {
    options_->on_child();
  }
  update_gate();
  is_child_pending_.store(false, std::memory_order_release);
  is_starting = false;
}

void Recorder::before_fork() noexcept {
  Recorder& self = instance();
  self.child_mutex_.lock();
  self.mutex_.lock();
  // The order in which threads take these: names, then the log; the collector takes what is known last.
  static_cast<void>(self.names_.lock());
  static_cast<void>(self.declarations_.lock());
  if (self.collector_ != nullptr) {
    self.collector_->lock_known();
  }
}

void Recorder::after_fork_in_parent() noexcept {
  Recorder& self = instance();
  if (self.collector_ != nullptr) {
    self.collector_->unlock_known();
  }
  self.declarations_.unlock();
  self.names_.unlock();
  self.mutex_.unlock();
  self.child_mutex_.unlock();
}

void Recorder::after_fork_in_child() noexcept {
  Recorder& self = instance();
  if (self.collector_ != nullptr) {
    // The collector's thread does not exist here, and the object cannot be destroyed without it. What it knows is read
    // when this process starts a collector of its own.
    self.known_before_fork_ = &self.collector_->known();
    self.collector_->unlock_known();
    self.collector_ = nullptr;
    self.is_child_pending_.store(self.is_on(), std::memory_order_relaxed);
  }
  kymo_thread_v1 = nullptr;
  forget_slots_in_child();
  if (self.claim_socket_ >= 0) {
    ::close(self.claim_socket_);
    self.claim_socket_ = -1;
  }
  if (Pool* const inherited = self.pool_.exchange(nullptr, std::memory_order_relaxed)) {
    inherited->abandon_in_child();
  }
  self.frames_.store(0, std::memory_order_relaxed);
  self.declarations_.detach();
  self.declarations_.unlock();
  self.names_.unlock();
  self.mutex_.unlock();
  self.child_mutex_.unlock();
}

}  // namespace kymo::record
