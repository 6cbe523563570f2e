#include "control/sampling.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <dlfcn.h>

#include "base/system/library_function.hpp"
#include "base/system/message.hpp"
#include "control/platform.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::control {

namespace {

/// Whether a capture of this process may have begun to take run states.
constinit bool has_had_states = false;

#if !defined(KYMO_STATIC)
/// libkymo_sense, from libkymo's directory or the loader's path. Never unloaded, as its threads run its code.
void* load_library() {
  constexpr const char* name = KYMO_SENSE_LIBRARY;
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&load_library), &self) != 0 && self.dli_fname != nullptr) {
    std::string path(self.dli_fname);
    path.erase(std::min(path.rfind('/'), path.size() - 1) + 1);
    if (void* const library = ::dlopen((path + name).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      return library;
    }
  }
  return ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}
#endif

SamplingEntry find_entry() {
  SamplingEntry entry = linked_sampling();
#if !defined(KYMO_STATIC)
  if (entry.start == nullptr) {
    if (void* const library = load_library()) {
      entry.start = base::LibraryFunction(library, "kymo_start_sampling_v1");
      entry.stop = base::LibraryFunction(library, "kymo_stop_sampling_v1");
      entry.forget = base::LibraryFunction(library, "kymo_forget_sampling_v1");
#if defined(__linux__)
      entry.begin_states = base::LibraryFunction(library, "kymo_begin_states_v1");
      entry.take_states = base::LibraryFunction(library, "kymo_take_states_v2");
      entry.forget_states = base::LibraryFunction(library, "kymo_forget_states_v1");
#endif
    }
  }
#endif
  const bool is_whole = entry.start != nullptr && entry.stop != nullptr && entry.forget != nullptr;
  return is_whole ? entry : SamplingEntry();
}

const SamplingEntry& entry() {
  static const SamplingEntry found = find_entry();
  return found;
}

}  // namespace

bool Sampling::start(const SampleRates& rates, bool is_wanted, bool has_capture) noexcept {
  if (is_running_ || std::all_of(rates.begin(), rates.end(), [](double hz) { return hz == 0; })) {
    return false;
  }
  if (entry().start == nullptr) {
    if (is_wanted) {
      base::say(
          "KYMO_SAMPLE asks for samples, but kymo::sense is not part of this program and its library is not found");
    }
    return false;
  }
  const kymo_sampling_v1 options{rates[0], rates[1], rates[2]};
  is_running_ = entry().start(&options);
  if (is_running_ && entry().begin_states != nullptr && entry().begin_states(has_capture)) {
    record::Recorder::instance().observe_by(entry().take_states);
    has_had_states = true;
  }
  return is_running_;
}

void Sampling::stop() noexcept {
  if (is_running_) {
    record::Recorder::instance().observe_by(nullptr);
    entry().stop();
    is_running_ = false;
  }
}

bool Sampling::forget() noexcept {
  const bool was_running = is_running_;
  if (std::exchange(has_had_states, false)) {
    record::Recorder::instance().observe_by(nullptr);
    entry().forget_states();
  }
  if (was_running) {
    entry().forget();
    is_running_ = false;
  }
  return was_running;
}

}  // namespace kymo::control
