// Causes in what other threads and processes do.
#include <kymo/lockable.hpp>

#include <algorithm>
#include <memory>

#include "explain_program_parts.hpp"

namespace explained {

namespace {

Body lock_convoy() {
  struct State {
    kymo::Lockable<std::mutex> cache{"cache"};
    Worker workers[2] = {Worker("worker 1"), Worker("worker 2")};
    std::atomic<int> begun{0};
  };
  auto state = std::make_shared<State>();
  return [state](Nanoseconds extra) {
    state->begun = 0;
    for (Worker& worker : state->workers) {
      worker.give([state, extra] {
        ++state->begun;
        const std::lock_guard lock(state->cache);
        KYMO_SCOPE("insert");
        compute(50'000 + extra / 2);
      });
    }
    KYMO_SCOPE("draw");
    wait_for(state->begun, 2);
    return timed([&] { const std::lock_guard lock(state->cache); });
  };
}

Body chain_over_three_threads() {
  struct State {
    kymo::Lockable<std::mutex> assets{"assets"};
    kymo::Lockable<std::mutex> images{"images"};
    Worker loader{"loader"};
    Worker decoder{"decoder"};
    std::atomic<int> held{0};
  };
  auto state = std::make_shared<State>();
  return [state](Nanoseconds extra) {
    state->held = 0;
    state->decoder.give([state, extra] {
      const std::lock_guard lock(state->images);
      ++state->held;
      KYMO_SCOPE("decode");
      compute(100'000 + extra);
    });
    wait_for(state->held, 1);
    state->loader.give([state] {
      KYMO_SCOPE("load");
      const std::lock_guard lock(state->assets);
      ++state->held;
      const std::lock_guard image(state->images);
    });
    wait_for(state->held, 2);
    KYMO_SCOPE("draw");
    return timed([&] { const std::lock_guard lock(state->assets); });
  };
}

Body outside_hog() {
  auto hog = std::make_shared<Hog>(first_cpu());
  Hog::pin(first_cpu());
  return [hog](Nanoseconds extra) {
    KYMO_SCOPE("simulate");
    if (extra == 0) {
      compute(ms);
      return Nanoseconds{0};
    }
    return timed([&] {
             hog->ask(extra);
             compute(ms);
           }) -
           ms;
  };
}

Body priority_inversion() {
  struct State {
    Hog hog{first_cpu()};
    kymo::Lockable<std::mutex> log{"log"};
    Worker low{"low"};
    std::atomic<int> held{0};
  };
  auto state = std::make_shared<State>();
  return [state](Nanoseconds extra) {
    state->held = 0;
    state->low.give([state, extra] {
      Hog::pin(first_cpu());
      KYMO_SCOPE("flush log");
      const std::lock_guard lock(state->log);
      ++state->held;
      if (extra != 0) {
        state->hog.ask(extra);
      }
      compute(500'000);
    });
    wait_for(state->held, 1);
    KYMO_SCOPE("draw");
    return timed([&] { const std::lock_guard lock(state->log); });
  };
}

Body imbalance() {
  struct State {
    Worker workers[2] = {Worker("worker 1"), Worker("worker 2")};
    std::mutex mutex;
    std::condition_variable changed;
    int done = 0;
    std::uint64_t flow = 0;
    std::size_t unlucky = 0;
  };
  auto state = std::make_shared<State>();
  return [state](Nanoseconds extra) {
    state->done = 0;
    state->unlucky = 1 - state->unlucky;
    const std::uint64_t flow = state->flow;
    state->flow += 2;
    for (std::size_t i = 0; i < 2; ++i) {
      state->workers[i].give([state, i, flow, extra] {
        KYMO_SCOPE("cull part");
        compute(300'000 + (i == state->unlucky ? extra : 0));
        kymo::flow_begin(1 + flow + i);
        const std::lock_guard lock(state->mutex);
        ++state->done;
        state->changed.notify_all();
      });
    }
    KYMO_SCOPE("join");
    const Nanoseconds took = timed([&state] {
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&state] { return state->done == 2; });
    });
    kymo::flow_end(1 + flow);
    kymo::flow_end(2 + flow);
    return took;
  };
}

/// A thread stands in for the GPU: it sleeps while a pass would run, and hands its spans in afterwards.
Body gpu_busy() {
  struct State {
    Worker device{"driver"};
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
  };
  auto state = std::make_shared<State>();
  return [state](Nanoseconds extra) {
    state->is_done = false;
    state->device.give([state, extra] {
      const kymo::TrackId queue = kymo::track("GPU 0");
      const Nanoseconds start = now();
      std::this_thread::sleep_for(std::chrono::nanoseconds(ms + extra));
      const Nanoseconds end = now();
      kymo::emit_span(queue, "shadow pass", "gpu", std::chrono::nanoseconds(start),
                      std::chrono::nanoseconds(end - start));
      const std::lock_guard lock(state->mutex);
      state->is_done = true;
      state->changed.notify_all();
    });
    KYMO_SCOPE("present");
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&state] { return state->is_done; });
    return extra;
  };
}

/// Two threads take memory at the same time, from a heap with one lock.
Body allocator_contention() {
  struct State {
    kymo::Lockable<std::mutex> heap{"heap"};
    Worker worker{"worker"};
    std::atomic<int> begun{0};
  };
  constexpr int allocations = 5;
  auto state = std::make_shared<State>();
  return [state](Nanoseconds extra) {
    Nanoseconds waited = 0;
    KYMO_SCOPE("build list");
    for (int i = 0; i < allocations; ++i) {
      state->begun = 0;
      state->worker.give([state, extra] {
        const std::lock_guard lock(state->heap);
        ++state->begun;
        KYMO_SCOPE("allocate");
        compute(30'000 + extra / allocations);
      });
      wait_for(state->begun, 1);
      waited += timed([&] { const std::lock_guard lock(state->heap); });
      compute(30'000);
    }
    return waited;
  };
}

/// Another thread writes beside a counter of this one.
Body false_sharing() {
  struct State {
    struct alignas(64) Line {
      std::atomic<std::uint64_t> mine{0};
      std::atomic<std::uint64_t> other{0};
    } line;
    std::atomic<bool> goes_on{false};
    Worker worker{"worker"};
  };
  auto state = std::make_shared<State>();
  constexpr int rounds = 200'000;
  const auto count = [state] {
    for (int i = 0; i < rounds; ++i) {
      state->line.mine.fetch_add(1, std::memory_order_relaxed);
    }
  };
  Nanoseconds alone = timed(count);
  for (int i = 0; i < 5; ++i) {
    alone = std::min(alone, timed(count));
  }
  return [state, count, alone](Nanoseconds extra) {
    state->goes_on = extra != 0;
    std::atomic<int> begun{0};
    state->worker.give([state, &begun] {
      ++begun;
      while (state->goes_on) {
        state->line.other.fetch_add(1, std::memory_order_relaxed);
      }
    });
    wait_for(begun, 1);
    KYMO_SCOPE("count");
    const Nanoseconds took = timed(count);
    state->goes_on = false;
    return took - alone;
  };
}

}  // namespace

const std::map<std::string, Make>& causes_of_others() {
  static const std::map<std::string, Make> all{{"lock convoy", lock_convoy},
                                               {"chain over three threads", chain_over_three_threads},
                                               {"outside hog", outside_hog},
                                               {"priority inversion", priority_inversion},
                                               {"imbalance among workers", imbalance},
                                               {"GPU busy", gpu_busy},
                                               {"allocator contention", allocator_contention},
                                               {"false sharing", false_sharing}};
  return all;
}

}  // namespace explained
