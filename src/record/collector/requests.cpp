// Requests of other threads and processes to the collector: adding and removing sinks, flushes, triggers.
#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/append.hpp"
#include "base/system/futex.hpp"
#include "base/system/message.hpp"
#include "record/clock/clock.hpp"
#include "record/collector/parts.hpp"

namespace kymo::record {

void Collector::answer_shared_requests() {
  SpoolHeader& header = pool_.header();
  const std::uint32_t triggers = header.trigger_requests.load(std::memory_order_acquire);
  const std::uint32_t crashes = header.crash_requests.load(std::memory_order_acquire);
  const std::uint32_t ends = header.end_requests.load(std::memory_order_acquire);
  if (triggers == header.trigger_done.load(std::memory_order_relaxed) &&
      crashes == header.crash_done.load(std::memory_order_relaxed) &&
      ends == header.end_done.load(std::memory_order_relaxed)) {
    return;
  }
  drain();
  if (ends != header.end_done.load(std::memory_order_relaxed)) {
    finish();
    if (is_finished_) {
      pool_.remove_spool();
    }
  } else {
    give_to_sinks([](Sink& sink) { sink.trigger(); });
  }
  const auto answer = [](std::atomic<std::uint32_t>& done, std::uint32_t requests) {
    done.store(requests, std::memory_order_release);
    base::futex_wake_all(done);
  };
  answer(header.trigger_done, triggers);
  answer(header.crash_done, crashes);
  answer(header.end_done, ends);
}

bool Collector::serve_requests() {
  std::vector<std::shared_ptr<Request>> requests;
  {
    const std::lock_guard lock(request_mutex_);
    requests.swap(requests_);
  }
  if (requests.empty()) {
    return false;
  }
  // This drain includes everything recorded before a request was made.
  if (!is_held_.load(std::memory_order_acquire)) {
    drain();
  }
  for (const std::shared_ptr<Request>& request : requests) {
    serve(*request);
  }
  std::vector<std::uint64_t> unwanted;
  {
    const std::lock_guard lock(request_mutex_);
    for (const std::shared_ptr<Request>& request : requests) {
      request->is_done = true;
      if (request->is_abandoned && request->kind == Request::Kind::add && request->handle != 0) {
        unwanted.push_back(request->handle);
      }
    }
    // Released before the requester continues and perhaps forks: the child has no thread that would free them.
    requests = std::vector<std::shared_ptr<Request>>();
  }
  tell_answer();
  for (const std::uint64_t handle : unwanted) {
    Request removal;
    removal.kind = Request::Kind::remove;
    removal.handle = handle;
    serve(removal);
  }
  return true;
}

void Collector::serve(Request& request) {
  request.is_granted = true;
  if (request.kind == Request::Kind::add) {
    // What was dropped before the first sink is its loss: in a forked child, events wait for it.
    if (sinks_.empty() && next_handle_ != first_handle) {
      forget_dropped();
    }
    {
      const std::lock_guard lock(known_mutex_);
      base::append(batch_.declarations, known_.all());
    }
    base::append(batch_.declarations, observed_.all());
    batch_.start_ns = batch_.end_ns = static_cast<std::int64_t>(monotonic_ns());
    batch_.clock_anchors.push_back(read_clock_anchor());
    cover(batch_, batch_.clock_anchors.back().monotonic_ns);
    state_every_track(true);
    async_spans_.put_begins(batch_);
    try {
      request.sink->write(batch_);
      request.handle = next_handle_++;
      sinks_.push_back({request.handle, std::move(request.sink)});
      note_sinks(false);
    } catch (...) {
      request.failure = std::current_exception();
    }
    for (const std::unique_ptr<TrackCursor>& cursor : tracks_) {
      cursor->decoder.forget_run(batch_);
    }
    clear_batch(batch_);
  } else if (request.kind == Request::Kind::remove_all) {
    while (!sinks_.empty()) {
      drop_sink(sinks_.size() - 1);
    }
  } else if (request.kind == Request::Kind::remove) {
    const auto found = std::find_if(sinks_.begin(), sinks_.end(),
                                    [&](const InstalledSink& installed) { return installed.handle == request.handle; });
    request.is_granted = found != sinks_.end();
    if (request.is_granted) {
      drop_sink(static_cast<std::size_t>(found - sinks_.begin()));
    }
  }
}

void Collector::drop_sink(std::size_t index) {
  const std::uint64_t handle = sinks_[index].handle;
  if (!async_spans_.is_empty() || std::any_of(tracks_.begin(), tracks_.end(),
                                              [](const auto& cursor) { return cursor->decoder.has_open_scopes(); })) {
    // What is open lasts until now at least.
    cover(batch_, static_cast<std::int64_t>(monotonic_ns()));
    hand_on();
  }
  hand_on_observed(sinks_.size() == 1 ? Observation::last : Observation::summed_up);
  const auto found = std::find_if(sinks_.begin(), sinks_.end(),
                                  [&](const InstalledSink& installed) { return installed.handle == handle; });
  if (found == sinks_.end()) {
    return;  // it failed at that
  }
  const std::shared_ptr<Sink> sink = std::move(found->sink);
  sinks_.erase(found);
  bool is_finished = false;
  try {
    sink->finish();
    is_finished = true;
  } catch (const std::exception& failure) {
    base::say(failure.what());
  } catch (...) {
    base::say("a sink could not be finished");
  }
  note_sinks(is_finished);
}

void Collector::drop_ended_sink() {
  const bool may_end = options_.find_ended && !sinks_.empty() && !is_held_.load(std::memory_order_acquire);
  const std::uint64_t handle = may_end ? options_.find_ended(sinks_.size() == 1) : 0;
  if (handle != 0) {
    drain();
    Request removal;
    removal.kind = Request::Kind::remove;
    removal.handle = handle;
    serve(removal);
  }
}

void Collector::note_sinks(bool is_saved) {
  is_saved_ = is_saved;
  if (sinks_.empty()) {
    async_spans_ = {};  // nothing tells which of them end from now on
  }
  const bool had_sinks = sink_count_.exchange(sinks_.size(), std::memory_order_relaxed) != 0;
  {
    const std::lock_guard lock(request_mutex_);
    handles_.clear();
    for (const InstalledSink& installed : sinks_) {
      handles_.push_back(installed.handle);
    }
  }
  if (had_sinks == sinks_.empty() && options_.on_sinks) {
    options_.on_sinks(!sinks_.empty(), is_saved);
  }
}

bool Collector::wait_for_answer(std::chrono::nanoseconds timeout, const std::function<bool()>& is_met) {
  const std::uint64_t deadline = monotonic_ns() + static_cast<std::uint64_t>(timeout.count());
  for (;;) {
    const std::uint32_t seen = answers_.load(std::memory_order_acquire);
    {
      const std::lock_guard lock(request_mutex_);
      if (is_met()) {
        return true;
      }
    }
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) {
      return false;
    }
    base::futex_wait(answers_, seen, static_cast<std::int64_t>(deadline - now));
  }
}

void Collector::tell_answer() noexcept {
  answers_.fetch_add(1, std::memory_order_release);
  base::futex_wake_all(answers_);
}

bool Collector::ask(const std::shared_ptr<Request>& request, std::chrono::nanoseconds timeout) {
  if (is_own_thread()) {
    static base::SayOnce say_own_thread;
    say_own_thread("a sink asked the recorder to flush, or to add or remove sinks: it would wait for itself");
    return false;
  }
  {
    const std::lock_guard lock(request_mutex_);
    if (is_ended_) {
      return false;
    }
    requests_.push_back(request);
  }
  pool_.wake_collector();
  static_cast<void>(wait_for_answer(timeout, [&] { return request->is_done || is_ended_; }));
  const std::lock_guard lock(request_mutex_);
  request->is_abandoned = !request->is_done;
  if (request->is_abandoned) {
    std::erase(requests_, request);
    return false;
  }
  return true;
}

std::uint64_t Collector::add_sink(std::shared_ptr<Sink> sink, std::chrono::nanoseconds timeout) {
  const auto request = std::make_shared<Request>();
  request->kind = Request::Kind::add;
  request->sink = std::move(sink);
  if (!ask(request, timeout)) {
    return 0;
  }
  if (request->failure) {
    std::rethrow_exception(request->failure);
  }
  return request->handle;
}

bool Collector::remove_sink(std::uint64_t handle, std::chrono::nanoseconds timeout) {
  const auto request = std::make_shared<Request>();
  request->kind = Request::Kind::remove;
  request->handle = handle;
  return ask(request, timeout) && request->is_granted;
}

bool Collector::remove_all_sinks(std::chrono::nanoseconds timeout) {
  const auto request = std::make_shared<Request>();
  request->kind = Request::Kind::remove_all;
  return ask(request, timeout);
}

bool Collector::flush(std::chrono::nanoseconds timeout) {
  return ask(std::make_shared<Request>(), timeout);
}

bool Collector::has_sink(std::uint64_t handle) {
  const std::lock_guard lock(request_mutex_);
  return std::find(handles_.begin(), handles_.end(), handle) != handles_.end();
}

void Collector::release() {
  is_held_.store(false, std::memory_order_release);
  pool_.wake_collector();
}

}  // namespace kymo::record
