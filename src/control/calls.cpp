// The public calls that switch recording, in C++ and in C, and what happens when the process ends.
#include <exception>

#include <kymo/kymo.h>
#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "base/message.hpp"
#include "control/control.hpp"
#include "control/cost.hpp"
#include "record/recorder.hpp"

namespace {

using kymo::control::Control;
using kymo::record::Recorder;

constexpr auto flush_timeout = std::chrono::seconds(10);

/// Runs a call whose failure must not reach the program.
template <typename Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& failure) {
    kymo::base::say(failure.what());
  } catch (...) {
    kymo::base::say("a call failed");
  }
  return decltype(call())();
}

/// After the program's own static objects are gone: the last moment at which a scope can have closed.
__attribute__((destructor(101))) void finish_at_exit() {
  Control::instance().stop_sampling();
  Recorder::instance().shut_down();
}

}  // namespace

namespace kymo {

bool enable() noexcept {
  return guarded([] { return Control::instance().enable(); });
}

void disable() noexcept {
  guarded([] {
    Control::instance().disable();
    return true;
  });
}

bool is_recording() noexcept {
  return Recorder::instance().is_on();
}

bool start_capture(const CaptureOptions& options) noexcept {
  return guarded([&] { return Control::instance().start_capture(options); });
}

bool stop_capture() noexcept {
  return guarded([] { return Control::instance().stop_capture(); });
}

Path capture_path() noexcept {
  return guarded([] { return Control::instance().capture_path(); });
}

bool trigger() noexcept {
  return guarded([] { return Control::instance().trigger(); });
}

bool flush() noexcept {
  return Recorder::instance().flush(flush_timeout);
}

void set_info(std::string_view key, std::string_view value) noexcept {
  guarded([&] {
    Control::instance().set_info(key, value);
    return true;
  });
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
    Recorder::instance().remove_sink(handle_);
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
    if (options != nullptr && options->struct_size >= sizeof(kymo_capture_options)) {
      if (options->path != nullptr) {
        wanted.path = options->path;
      }
      wanted.keep_duration = std::chrono::nanoseconds(options->keep_ns);
      wanted.keep_bytes = options->keep_bytes;
      wanted.max_bytes = options->max_bytes;
      wanted.sync_period = std::chrono::nanoseconds(options->sync_period_ns);
      wanted.pool_bytes = options->pool_bytes;
    } else if (options != nullptr) {
      kymo::base::say("kymo_start_capture: struct_size is not sizeof(kymo_capture_options)");
      return 0;
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
