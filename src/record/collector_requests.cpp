// What other threads and processes ask of the collector: sinks added and removed, flushes, triggers.
#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/append.hpp"
#include "base/message.hpp"
#include "record/clock.hpp"
#include "record/collector_parts.hpp"

namespace kymo::record {

void Collector::answer_shared_requests() {
  SpoolHeader& header = pool_.header();
  const std::uint32_t triggers = header.trigger_requests.load(std::memory_order_acquire);
  const std::uint32_t crashes = header.crash_requests.load(std::memory_order_acquire);
  if (triggers == header.trigger_done.load(std::memory_order_relaxed) &&
      crashes == header.crash_done.load(std::memory_order_relaxed)) {
    return;
  }
  drain();
  give_to_sinks([](Sink& sink) { sink.trigger(); });
  header.trigger_done.store(triggers, std::memory_order_release);
  header.crash_done.store(crashes, std::memory_order_release);
  futex_wake_all(header.trigger_done);
  futex_wake_all(header.crash_done);
}

void Collector::serve_requests() {
  std::vector<Request*> requests;
  {
    const std::lock_guard lock(request_mutex_);
    requests.swap(requests_);
  }
  if (requests.empty()) {
    return;
  }
  // What was recorded before a request was made is in this drain.
  drain();
  for (Request* const request : requests) {
    serve(*request);
  }
  {
    const std::lock_guard lock(request_mutex_);
    for (Request* const request : requests) {
      request->is_done = true;
    }
    // Before whoever asked goes on, and may fork: the child has no thread that would free what this one holds.
    requests = std::vector<Request*>();
  }
  request_done_.notify_all();
}

void Collector::serve(Request& request) {
  request.is_granted = true;
  if (request.kind == Request::Kind::add) {
    if (sinks_.empty()) {
      forget_dropped();
      last_frame_ns_ = 0;
    }
    {
      const std::lock_guard lock(known_mutex_);
      base::append(batch_.declarations, known_.all());
    }
    batch_.start_ns = batch_.end_ns = static_cast<std::int64_t>(monotonic_ns());
    batch_.clock_anchors.push_back(read_clock_anchor());
    cover(batch_, batch_.clock_anchors.back().monotonic_ns);
    state_every_track(true);
    for (const auto& [id, open] : open_async_) {
      batch_.async_begins.push_back({open.track, open.name, open.start_ns, id});
      cover(batch_, open.start_ns);
    }
    try {
      request.sink->write(batch_);
      request.handle = next_handle_++;
      sinks_.push_back({request.handle, std::move(request.sink)});
      sink_count_.store(sinks_.size(), std::memory_order_relaxed);
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
  const std::shared_ptr<Sink> sink = std::move(sinks_[index].sink);
  sinks_.erase(sinks_.begin() + static_cast<std::ptrdiff_t>(index));
  count_sinks();
  try {
    sink->finish();
  } catch (const std::exception& failure) {
    base::say(failure.what());
  } catch (...) {
    base::say("a sink could not be finished");
  }
}

void Collector::submit(Request& request) {
  {
    const std::lock_guard lock(request_mutex_);
    requests_.push_back(&request);
  }
  pool_.wake_collector();
}

std::uint64_t Collector::add_sink(std::shared_ptr<Sink> sink) {
  Request request;
  request.kind = Request::Kind::add;
  request.sink = std::move(sink);
  submit(request);
  std::unique_lock lock(request_mutex_);
  request_done_.wait(lock, [&] { return request.is_done; });
  if (request.failure) {
    std::rethrow_exception(request.failure);
  }
  return request.handle;
}

bool Collector::remove_sink(std::uint64_t handle) {
  Request request;
  request.kind = Request::Kind::remove;
  request.handle = handle;
  submit(request);
  std::unique_lock lock(request_mutex_);
  request_done_.wait(lock, [&] { return request.is_done; });
  return request.is_granted;
}

void Collector::remove_all_sinks() {
  Request request;
  request.kind = Request::Kind::remove_all;
  submit(request);
  std::unique_lock lock(request_mutex_);
  request_done_.wait(lock, [&] { return request.is_done; });
}

bool Collector::flush(std::chrono::nanoseconds timeout) {
  Request request;
  submit(request);
  std::unique_lock lock(request_mutex_);
  if (request_done_.wait_for(lock, timeout, [&] { return request.is_done; })) {
    return true;
  }
  // The collector must not find a request that is gone. One that it has taken already is waited for.
  const auto found = std::find(requests_.begin(), requests_.end(), &request);
  if (found != requests_.end()) {
    requests_.erase(found);
    return false;
  }
  request_done_.wait(lock, [&] { return request.is_done; });
  return true;
}

}  // namespace kymo::record
