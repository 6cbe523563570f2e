#include "exchange/stacks/sampled_threads.hpp"

#include <kymo/exchange.hpp>

#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {

void require_samples(const Timeline& timeline) {
  if (timeline.declarations().stacks.empty()) {
    throw ExchangeError("no stacks were recorded: kymo record --stacks records them");
  }
}

std::vector<std::string> waits_left_out(std::uint64_t unsampled_ns) {
  if (unsampled_ns == 0) {
    return {};
  }
  return {"waits whose stacks were not taken, " + std::to_string(unsampled_ns / 1'000'000) + " ms in all"};
}

const ThreadDeclaration& SampledThreads::declared(ThreadId thread) const {
  static const ThreadDeclaration lost;
  const auto& threads = timeline_.declarations().threads;
  return thread.index() < threads.size() ? threads[thread.index()] : lost;
}

std::string SampledThreads::name_of(ThreadId thread) const {
  const ThreadDeclaration& declaration = declared(thread);
  return declaration.name.empty() ? "thread " + std::to_string(declaration.os_thread_id) : declaration.name;
}

std::int64_t SampledThreads::period_ns() const {
  const std::uint32_t hz = stats::samples_hz(timeline_);
  return hz != 0 ? (1'000'000'000 + hz / 2) / hz : 0;
}

}  // namespace kymo::exchange
