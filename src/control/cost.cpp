#include "control/cost.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <limits>
#include <memory>

#include <kymo/detail/hot_path.hpp>

#include "record/clock/clock.hpp"
#include "record/pool/spool_layout.hpp"

namespace kymo::control {

namespace {

std::atomic<double> last_cost_ns{0};

constexpr std::size_t scopes_a_round = 2'000;
constexpr int rounds = 25;

/// Gives the calling thread a temporary state. Signals are blocked, so that no handler's scope is lost in it.
class BorrowedState {
 public:
  explicit BorrowedState(detail::ThreadState& state) : previous_(kymo_thread_v3) {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &mask_);
    kymo_thread_v3 = &state;
  }
  BorrowedState(const BorrowedState&) = delete;
  BorrowedState& operator=(const BorrowedState&) = delete;
  ~BorrowedState() {
    kymo_thread_v3 = previous_;
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  detail::ThreadState* previous_;
  sigset_t mask_{};
};

struct PlacedState {
  PlacedState() {}  // NOLINT(modernize-use-equals-default): a defaulted one would clear the bytes between
  detail::ThreadState state;
  std::byte between[detail::cursor_distance - sizeof(detail::ThreadState)];
  detail::Cursor cursor{nullptr};
};
static_assert(offsetof(PlacedState, cursor) == detail::cursor_distance);

}  // namespace

double measure_empty_scope_ns() noexcept {
  constexpr std::size_t words = scopes_a_round * 2 + 2;
  const std::unique_ptr<std::uint64_t[]> chunk(new (std::nothrow) std::uint64_t[words]());
  // A state and, at its distance, the cursor. Nothing between them is touched.
  const std::unique_ptr<PlacedState> placed(new (std::nothrow) PlacedState);
  if (!chunk || !placed || !record::counter_in_use()) {
    return 0;
  }
  detail::ThreadState& state = placed->state;
  state.scopes_end = chunk.get() + words - (detail::words_of_a_scope - 1);
  state.opens_end = state.scopes_end;
  state.key = detail::first_key(1);
  kymo_site site{1, 0, "", "", "", 0, KYMO_SITE_SCOPE};
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const BorrowedState borrowed(state);
  for (int round = 0; round < rounds; ++round) {
    detail::cursor_of(state).store(chunk.get(), std::memory_order_relaxed);
    const std::uint64_t start_ns = detail::monotonic_ns();
    for (std::size_t i = 0; i < scopes_a_round; ++i) {
      detail::close_scope(detail::open_scope(site));
    }
    least = std::min(least, detail::monotonic_ns() - start_ns);
  }
  const double cost_ns = static_cast<double>(least) / static_cast<double>(scopes_a_round);
  last_cost_ns.store(cost_ns, std::memory_order_relaxed);
  return cost_ns;
}

double last_empty_scope_ns() noexcept {
  return last_cost_ns.load(std::memory_order_relaxed);
}

}  // namespace kymo::control
