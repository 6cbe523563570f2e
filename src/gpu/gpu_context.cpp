// The public side of GPU scopes: no exception leaves it.
#include <pthread.h>
#include <atomic>
#include <chrono>
#include <ctime>
#include <utility>

#include <kymo/gpu_scope.hpp>

#include "base/system/clock.hpp"
#include "base/system/message.hpp"
#include "gpu/scopes.hpp"

namespace kymo {

namespace {

constexpr long poll_ns = 200'000;

/// Shared by all contexts, so that a number identifies one pair of spans.
std::atomic<std::uint64_t> correlations{0};

/// Number of forks between this process and the one that loaded kymo.
std::atomic<unsigned> forks{0};

void count_forks() {
  static const int installed =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(installed);
}

/// Does nothing in a forked child: the GPU is the parent's, and threads that do not exist may hold locks. The only
/// possible failure is lack of memory: the scope is then not timed.
template <typename Work>
void quietly(const gpu::Scopes& scopes, const Work& work) noexcept {
  if (scopes.forks() != forks.load(std::memory_order_relaxed)) {
    return;
  }
  try {
    work();
  } catch (...) {
    static base::SayOnce say_once;
    say_once("a GPU scope is not timed: there is too little memory");
  }
}

}  // namespace

GpuDriver::~GpuDriver() = default;

void GpuDriver::recycle_in(void* /*place*/) noexcept {}

bool GpuDriver::is_timed(void* /*place*/) noexcept {
  return true;
}

GpuContext::GpuContext(GpuDriverOrTrouble driver, const GpuOptions& options) : driver_(driver.driver.get()) {
  count_forks();
  scopes_ = std::make_shared<gpu::Scopes>(std::move(driver), options, forks.load());
}

GpuContext::~GpuContext() {
  quietly(*scopes_, [this] { scopes_->end(); });
}

void GpuContext::collect() noexcept {
  collect_in(nullptr);
}

void GpuContext::collect_in(void* place) noexcept {
  quietly(*scopes_, [&] { scopes_->collect(place); });
}

bool GpuContext::flush(std::chrono::nanoseconds patience) noexcept {
  const std::int64_t start_ns = base::monotonic_now_ns();
  for (;;) {
    collect();
    if (counts().pending == 0) {
      return true;
    }
    if (base::monotonic_now_ns() - start_ns >= patience.count()) {
      return false;
    }
    const timespec pause{0, poll_ns};
    ::nanosleep(&pause, nullptr);
  }
}

void GpuContext::lose(std::string_view reason) noexcept {
  quietly(*scopes_, [&] { scopes_->lose(reason); });
}

bool GpuContext::is_working() const noexcept {
  return scopes_->is_working();
}

GpuScopeCounts GpuContext::counts() const noexcept {
  return scopes_->counts();
}

GpuTiming GpuContext::open(std::string_view name, void* place) noexcept {
  GpuTiming timing;
  timing.correlation = correlations.fetch_add(1, std::memory_order_relaxed) + 1;
  quietly(*scopes_, [&] {
    timing.timer = scopes_->open(name, place, timing.correlation);
    if (timing.timer == gpu::Scopes::not_timed) {
      timing.correlation = 0;
    } else if (timing.timer != gpu::Scopes::no_timer) {
      timing.scopes = scopes_;
    }
  });
  return timing;
}

void GpuContext::add_arguments(const GpuTiming& timing, const Argument* arguments, std::size_t count) noexcept {
  quietly(*timing.scopes, [&] { timing.scopes->add_arguments(timing, arguments, count); });
}

void GpuContext::close(const GpuTiming& timing) noexcept {
  quietly(*timing.scopes, [&] { timing.scopes->close(timing); });
}

}  // namespace kymo
