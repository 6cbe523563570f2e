#include "threads/states/entry.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "threads/states/own_threads.hpp"

namespace {

using kymo::threads::OwnThreads;

// Plain pointers without destructors: what a fork inherited cannot be destroyed, since its thread does not exist here.
struct Observed {
  std::atomic<OwnThreads*> threads{nullptr};
  const std::pair<OwnThreads*, const void*>* left_behind = nullptr;
};
constinit Observed observed;

OwnThreads& begun() {
  OwnThreads* threads = observed.threads.load();
  if (threads == nullptr) {
    auto fresh = std::make_unique<OwnThreads>();
    if (observed.threads.compare_exchange_strong(threads, fresh.get())) {
      threads = fresh.release();
    }
  }
  return *threads;
}

}  // namespace

bool kymo_begin_states_v1(bool has_capture) noexcept {
  using kymo::threads::ThreadsMode;
  const auto mode = kymo::threads::threads_mode_of_environment();
  if (mode == ThreadsMode::stacks) {
    static kymo::base::SayOnce say_who_has_stacks;
    say_who_has_stacks("KYMO_THREADS=stacks: `kymo record --stacks` samples stacks; this program records run states");
  }
  const char* const machine = kymo::base::trusted_variable("KYMO_MACHINE");
  const bool is_observed = machine != nullptr && std::string_view(machine) == "off";
  const bool is_wanted = mode != ThreadsMode::off && !is_observed;
  try {
    if (is_wanted && has_capture) {
      static_cast<void>(begun());
    }
  } catch (const std::exception& failure) {
    kymo::base::say(std::string("run states are missing: ") + failure.what());
  }
  return is_wanted;
}

bool kymo_take_states_v2(kymo::EventBatch* batch, kymo::record::Observation extent) noexcept {
  using kymo::record::Observation;
  try {
    if (extent != Observation::last) {
      return extent == Observation::more ? begun().take(*batch) : begun().take_summed_up(*batch);
    }
    const std::unique_ptr<OwnThreads> ended(observed.threads.exchange(nullptr));
    return ended != nullptr && ended->take_last(*batch);
  } catch (const std::exception& failure) {
    kymo::base::say(std::string("run states are missing: ") + failure.what());
    return false;
  }
}

void kymo_forget_states_v1() noexcept {
  if (OwnThreads* const threads = observed.threads.exchange(nullptr)) {
    threads->forget();
    // Kept reachable.
    observed.left_behind =
        std::make_unique<std::pair<OwnThreads*, const void*>>(threads, observed.left_behind).release();
  }
}
