// The public calls that switch recording, in C++ and C, and the process's end.
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>

#include <kymo/kymo.h>
#include <kymo/chrome_trace.hpp>
#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "base/system/fork_handlers.hpp"
#include "base/system/message.hpp"
#include "base/system/not_cancelled.hpp"
#include "base/system/unchecked.hpp"
#include "control/control.hpp"
#include "control/cost.hpp"
#include "control/run_facts.hpp"
#include "exchange/chrome/sink.hpp"
#include "record/recorder/recorder.hpp"

namespace {

using kymo::control::Control;
using kymo::record::Recorder;

/// Runs a call whose failure must not reach the program.
template <typename Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
  const kymo::base::NotCancelled not_cancelled;
  const kymo::base::Unchecked unchecked;
  try {
    return call();
  } catch (const std::exception& failure) {
    kymo::base::say(failure.what());
  } catch (...) {
    kymo::base::say("a call failed");
  }
  return decltype(call())();
}

/// After the program's own static objects are destroyed: no scope can close later.
__attribute__((destructor(101))) void finish_at_exit() {
  kymo_end_process_v1();
  kymo::base::remove_fork_handlers();
}

}  // namespace

namespace kymo {

bool enable() noexcept {
  return guarded([] { return Control::instance().enable(); });
}

bool start_sampling() noexcept {
  return guarded([] { return Control::instance().start_sampling(); });
}

void stop_sampling() noexcept {
  const base::Unchecked unchecked;
  Control::instance().stop_sampling();
}

void disable() noexcept {
  guarded([] { Control::instance().disable(); });
}

bool is_recording() noexcept {
  return Recorder::instance().is_on();
}

SinkGuard ChromeTraceSink::install() const noexcept {
  try {
    return Sink::install(std::make_shared<exchange::ChromeSink>(path_.c_str(), control::describe_run()));
  } catch (const std::exception& error) {
    base::say(std::string("Chrome trace: ") + error.what() + "; no trace is written");
  } catch (...) {
    base::say("Chrome trace: it could not be begun; no trace is written");
  }
  return SinkGuard();
}

bool detail::start_capture(const CaptureOptions& options, std::size_t size) noexcept {
  return guarded([&] {
    // A program built with fewer options gets the defaults of the others.
    static_assert(std::is_trivially_copyable_v<CaptureOptions>);
    CaptureOptions known;
    std::memcpy(static_cast<void*>(&known), &options, std::min(size, sizeof known));
    return Control::instance().start_capture(known);
  });
}

bool stop_capture() noexcept {
  return guarded([] { return Control::instance().stop_capture(); });
}

Path capture_path() noexcept {
  const Path path = guarded([] { return Control::instance().capture_path(); });
  base::mark_written(&path, sizeof path);
  return path;
}

bool trigger() noexcept {
  return guarded([] { return Control::instance().trigger(); });
}

bool flush() noexcept {
  return guarded([] { return Recorder::instance().flush(Recorder::wait_for_collector); });
}

void set_info(Text key, Text value) noexcept {
  guarded([&] { Control::instance().set_info(key, value); });
}

double calibrate() noexcept {
  return control::measure_empty_scope_ns();
}

double empty_scope_ns() noexcept {
  const double known = control::last_empty_scope_ns();
  return known > 0 ? known : calibrate();
}

SinkGuard Sink::install(std::shared_ptr<Sink> sink) {
  return SinkGuard(guarded([&] { return sink ? Control::instance().install(std::move(sink)) : 0; }));
}

SinkGuard& SinkGuard::operator=(SinkGuard&& other) noexcept {
  if (this != &other) {
    remove();
    handle_ = other.handle_;
    other.handle_ = 0;
  }
  return *this;
}

SinkGuard::~SinkGuard() {
  remove();
}

void SinkGuard::remove() noexcept {
  if (handle_ != 0) {
    guarded([this] { return Recorder::instance().remove_sink(handle_); });
    handle_ = 0;
  }
}

}  // namespace kymo

extern "C" {

int kymo_enable(void) {
  return kymo::enable() ? 1 : 0;
}
void kymo_disable(void) {
  kymo::disable();
}
int kymo_is_recording(void) {
  return kymo::is_recording() ? 1 : 0;
}

int kymo_start_capture(const kymo_capture_options* options) {
  return guarded([&] {
    kymo::CaptureOptions wanted;
    if (options != nullptr) {
      // The same in C: members missing in a smaller structure get their defaults.
      kymo_capture_options known = {};
      if (options->struct_size < sizeof known.struct_size) {
        kymo::base::say("kymo_start_capture: struct_size is to be sizeof(kymo_capture_options)");
        return 0;
      }
      std::memcpy(&known, options, std::min<std::size_t>(options->struct_size, sizeof known));
      if (known.path != nullptr) {
        wanted.path = known.path;
      }
      wanted.keep_duration = kymo::Nanoseconds(static_cast<std::int64_t>(known.keep_ns));
      wanted.keep_bytes = known.keep_bytes;
      wanted.max_bytes = known.max_bytes;
      wanted.sync_period = kymo::Nanoseconds(static_cast<std::int64_t>(known.sync_period_ns));
      wanted.pool_bytes = known.pool_bytes;
    }
    return kymo::start_capture(wanted) ? 1 : 0;
  });
}

int kymo_stop_capture(void) {
  return kymo::stop_capture() ? 1 : 0;
}
int kymo_trigger(void) {
  return kymo::trigger() ? 1 : 0;
}
int kymo_flush(void) {
  return kymo::flush() ? 1 : 0;
}

void kymo_set_info(const char* key, const char* value) {
  if (key != nullptr && value != nullptr) {
    kymo::set_info(key, value);
  }
}

void kymo_end_process_v1(void) {
  const kymo::base::Unchecked unchecked;
  Control::instance().stop_sampling();
  Recorder::instance().shut_down();
}

double kymo_calibrate(void) {
  return kymo::calibrate();
}
double kymo_empty_scope_ns(void) {
  return kymo::empty_scope_ns();
}
const char* kymo_version(void) {
  return kymo::version();
}
}
