#include "support/interleavings.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <ucontext.h>

namespace kymo::test {

namespace {

constexpr std::uint64_t most_orders = 20'000'000;
constexpr std::size_t stack_bytes = 64 * 1024;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

}  // namespace

void View::join(const View& other) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = std::max(seen[i], other.seen[i]);
  }
  for (std::size_t i = 0; i < clock.size(); ++i) {
    clock[i] = std::max(clock[i], other.clock[i]);
  }
}

std::uint64_t View::hash() const {
  std::array<std::uint64_t, sizeof(View) / sizeof(std::uint64_t)> words{};
  static_assert(sizeof words == sizeof(View));
  std::memcpy(words.data(), this, sizeof(View));
  std::uint64_t hash = 1;
  for (const std::uint64_t word : words) {
    hash = mix(hash, word);
  }
  return hash;
}

namespace detail_of_interleavings {

/// A value that a location had, and what a thread sees by reading it.
struct Change {
  std::uint64_t value = 0;
  View view;
};

struct Location {
  std::vector<Change> changes;
  std::uint64_t hash = 0;
  std::uint8_t in_order = 0;  ///< the newest change made or seen by a sequentially consistent access
};

/// The last write to a location, and each thread's last read of it.
struct PlainAccesses {
  std::size_t writer = View::most_threads;
  std::uint8_t written = 0;
  std::array<std::uint8_t, View::most_threads> read{};
};

struct Fiber {
  enum class State : std::uint8_t { ready, waiting, ended };
  ucontext_t context{};
  std::vector<std::byte> stack = std::vector<std::byte>(stack_bytes);
  State state = State::ready;
  std::size_t waits_on = 0;
  View view;
  unsigned old_reads = 0;
  std::uint64_t history = 0;  ///< everything that it has read, which determines its variables
};

struct Choice {
  std::size_t taken = 0;
  std::size_t count = 0;
};

struct Step {
  std::size_t thread = 0;
  const char* what = "";
  std::size_t index = 0;
  std::uint64_t value = 0;
  const char* order = "";
};

class Engine {
 public:
  explicit Engine(unsigned most_old_reads) : most_old_reads_(most_old_reads) {}

  Exploration explore(const std::function<Scenario()>& make) {
    Exploration result;
    do {
      run(make);
      ++result.orders;
    } while (failure_.empty() && result.orders < most_orders && next_order());
    result.states = met_.size();
    result.failure = failure_;
    if (failure_.empty() && result.orders == most_orders) {
      result.failure = "there are too many orders";
    }
    return result;
  }

  std::size_t add_location(std::uint64_t initial) {
    if (locations_.size() == View::most_locations) {
      throw std::length_error("a scenario has too many atomics");
    }
    Location& location = locations_.emplace_back();
    location.changes.push_back({initial, {}});
    return locations_.size() - 1;
  }

  std::size_t add_plain() {
    plains_.emplace_back();
    return plains_.size() - 1;
  }

  std::uint64_t load(std::size_t index, std::memory_order order) {
    Location& location = locations_[index];
    if (!is_running_) {
      return location.changes.back().value;
    }
    let_others_run();
    const std::size_t newest = location.changes.size() - 1;
    const std::size_t at = newest - choose(newest - oldest_visible(index, order) + 1);
    return see(index, at, order, "load");
  }

  void store(std::size_t index, std::uint64_t value, std::memory_order order) {
    if (!is_running_) {
      locations_[index].changes.back().value = value;
      return;
    }
    let_others_run();
    put(index, value, order, {}, "store");
  }

  std::uint64_t change(std::size_t index, std::memory_order order,
                       const std::function<std::uint64_t(std::uint64_t)>& change) {
    if (!is_running_) {
      const std::uint64_t old = locations_[index].changes.back().value;
      locations_[index].changes.back().value = change(old);
      return old;
    }
    let_others_run();
    const View inherited = locations_[index].changes.back().view;
    const std::uint64_t old = see(index, locations_[index].changes.size() - 1, order, "read to change");
    put(index, change(old), order, inherited, "change");
    return old;
  }

  bool compare_exchange(std::size_t index, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                        std::memory_order failure) {
    Location& location = locations_[index];
    if (!is_running_) {
      const std::uint64_t seen = location.changes.back().value;
      location.changes.back().value = seen == expected ? desired : seen;
      return std::exchange(expected, seen) == seen;
    }
    let_others_run();
    // It replaces the newest value if that is the expected one, or fails on any other value that it may see.
    const bool can_change = location.changes.back().value == expected;
    std::array<std::size_t, 256> others{};
    std::size_t count = 0;
    for (std::size_t at = location.changes.size(); at-- > oldest_visible(index, failure);) {
      if (location.changes[at].value != expected) {
        others[count++] = at;
      }
    }
    const std::size_t taken = choose(count + (can_change ? 1 : 0));
    if (can_change && taken == 0) {
      const View inherited = location.changes.back().view;
      see(index, location.changes.size() - 1, success, "compare and exchange");
      put(index, desired, success, inherited, "exchanged for");
      return true;
    }
    expected = see(index, others[taken - (can_change ? 1 : 0)], failure, "compare and fail");
    return false;
  }

  void note_plain_read(std::size_t index, std::uint64_t value) {
    if (!is_running_) {
      return;
    }
    PlainAccesses& plain = plains_[index];
    Fiber& self = fiber();
    note("reads plain", index, value, "");
    check_written_before(plain);
    plain.read[current_] = self.view.clock[current_];
    self.history = mix(mix(self.history, index + 1000), value);
  }

  void note_plain_write(std::size_t index) {
    if (!is_running_) {
      return;
    }
    PlainAccesses& plain = plains_[index];
    note("writes plain", index, 0, "");
    check_written_before(plain);
    for (std::size_t reader = 0; reader < plain.read.size(); ++reader) {
      if (reader != current_ && plain.read[reader] > fiber().view.clock[reader]) {
        fail("a data race: it is written beside a thread that reads it");
      }
    }
    plain.writer = current_;
    plain.written = fiber().view.clock[current_];
  }

  void futex_wait(std::size_t index, std::uint64_t expected) {
    let_others_run();
    const bool sleeps = locations_[index].changes.back().value == expected;
    fiber().history = mix(fiber().history, sleeps ? 7001 : 7002);
    note(sleeps ? "sleeps on" : "does not sleep on", index, expected, "");
    if (sleeps) {
      fiber().state = Fiber::State::waiting;
      fiber().waits_on = index;
      let_others_run();
    }
  }

  void futex_wake_all(std::size_t index) {
    let_others_run();
    fiber().history = mix(fiber().history, index + 6001);
    note("wakes all on", index, 0, "");
    for (std::size_t i = 0; i < thread_count_; ++i) {
      if (fibers_[i]->state == Fiber::State::waiting && fibers_[i]->waits_on == index) {
        fibers_[i]->state = Fiber::State::ready;
      }
    }
  }

  void fail(const std::string& what) {
    failure_ = what;
    for (const Step& step : steps_) {
      failure_.append("\n  thread ").append(std::to_string(step.thread)).append(" ").append(step.what).append(" #");
      failure_.append(std::to_string(step.index)).append(" ").append(std::to_string(step.value)).append(" ");
      failure_.append(step.order);
    }
    if (is_running_) {
      leave();
    }
  }

  [[nodiscard]] std::size_t current_thread() const { return current_; }

  /// The start of a fiber.
  void run_current() {
    fiber().history = mix(fiber().history, 8001);
    scenario_->threads[current_]();
    fiber().state = Fiber::State::ended;
    fiber().history = mix(fiber().history, 9001);
    let_others_run();
  }

 private:
  Fiber& fiber() { return *fibers_[current_]; }

  void run(const std::function<Scenario()>& make);

  /// Continues with a selected thread. Returns here when this one is selected.
  void let_others_run() {
    if (depth_ >= path_.size() && !met_.insert(state()).second) {
      leave();
    }
    std::array<std::size_t, View::most_threads> ready{};
    std::size_t count = 0;
    bool all_ended = true;
    for (std::size_t i = 0; i < thread_count_; ++i) {
      all_ended = all_ended && fibers_[i]->state == Fiber::State::ended;
      if (fibers_[i]->state == Fiber::State::ready) {
        ready[count++] = i;
      }
    }
    if (count == 0) {
      if (!all_ended) {
        fail("every thread that has not ended sleeps");
      }
      leave();
    }
    const std::size_t next = ready[choose(count)];
    if (next != current_) {
      Fiber& from = fiber();
      current_ = next;
      ::swapcontext(&from.context, &fiber().context);
    }
  }

  /// Returns to explore() for good.
  void leave() { ::setcontext(&home_); }

  std::size_t choose(std::size_t count) {
    if (count == 1) {
      return 0;
    }
    if (depth_ == path_.size()) {
      path_.push_back({0, count});
    }
    return path_[depth_++].taken;
  }

  /// Advances the last choice that has alternatives left. False if none has.
  bool next_order() {
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count) {
      path_.pop_back();
    }
    if (path_.empty()) {
      return false;
    }
    ++path_.back().taken;
    return true;
  }

  std::size_t oldest_visible(std::size_t index, std::memory_order order) {
    if (fiber().old_reads >= most_old_reads_) {
      return locations_[index].changes.size() - 1;
    }
    const std::uint8_t seen = fiber().view.seen[index];
    return order == std::memory_order_seq_cst ? std::max(seen, locations_[index].in_order) : seen;
  }

  std::uint64_t see(std::size_t index, std::size_t at, std::memory_order order, const char* what) {
    Location& location = locations_[index];
    const Change& change = location.changes[at];
    Fiber& self = fiber();
    self.view.seen[index] = std::max(self.view.seen[index], static_cast<std::uint8_t>(at));
    self.old_reads += at + 1 == location.changes.size() ? 0U : 1U;
    if (acquires(order)) {
      self.view.join(change.view);
    }
    if (order == std::memory_order_seq_cst) {
      location.in_order = std::max(location.in_order, static_cast<std::uint8_t>(at));
    }
    self.history = mix(mix(self.history, index), change.value);
    note(what, index, change.value, name_of(order));
    return change.value;
  }

  void put(std::size_t index, std::uint64_t value, std::memory_order order, const View& inherited, const char* what) {
    Location& location = locations_[index];
    if (location.changes.size() == 255) {
      fail("an atomic changes too often");
    }
    Fiber& self = fiber();
    const auto at = static_cast<std::uint8_t>(location.changes.size());
    self.view.seen[index] = at;
    View view = inherited;
    view.seen[index] = at;
    if (releases(order)) {
      view.join(self.view);
      ++self.view.clock[current_];
    }
    if (order == std::memory_order_seq_cst) {
      location.in_order = at;
    }
    location.changes.push_back({value, view});
    location.hash = mix(mix(location.hash, value), view.hash());
    self.history = mix(self.history, index + 500);
    note(what, index, value, name_of(order));
  }

  void check_written_before(const PlainAccesses& plain) {
    if (plain.writer != View::most_threads && plain.writer != current_ &&
        plain.written > fiber().view.clock[plain.writer]) {
      fail("a data race: another thread's write does not happen before this access");
    }
  }

  std::uint64_t state() {
    std::uint64_t hash = 1;
    for (const Location& location : locations_) {
      hash = mix(mix(hash, location.hash), location.in_order);
    }
    for (const PlainAccesses& plain : plains_) {
      hash = mix(mix(hash, plain.writer), plain.written);
      for (const std::uint8_t read : plain.read) {
        hash = mix(hash, read);
      }
    }
    for (std::size_t i = 0; i < thread_count_; ++i) {
      const Fiber& one = *fibers_[i];
      hash = mix(mix(hash, one.history), one.view.hash());
      hash = mix(mix(hash, static_cast<std::uint64_t>(one.state)), one.waits_on);
      hash = mix(hash, one.old_reads);
    }
    return hash;
  }

  void note(const char* what, std::size_t index, std::uint64_t value, const char* order) {
    steps_.push_back({current_, what, index, value, order});
  }

  unsigned most_old_reads_;
  std::vector<Location> locations_;
  std::vector<PlainAccesses> plains_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t thread_count_ = 0;
  const Scenario* scenario_ = nullptr;
  std::size_t current_ = 0;
  bool is_running_ = false;
  ucontext_t home_{};
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  std::unordered_set<std::uint64_t> met_;
  std::vector<Step> steps_;
  std::string failure_;
};

Engine* running_engine = nullptr;

Engine& engine() {
  return *running_engine;
}

void begin_fiber() {
  engine().run_current();
}

void Engine::run(const std::function<Scenario()>& make) {
  locations_.clear();
  plains_.clear();
  steps_.clear();
  depth_ = 0;
  const Scenario scenario = make();
  scenario_ = &scenario;
  thread_count_ = scenario.threads.size();
  if (thread_count_ > View::most_threads) {
    throw std::length_error("a scenario has too many threads");
  }
  while (fibers_.size() < thread_count_) {
    fibers_.push_back(std::make_unique<Fiber>());
  }
  for (std::size_t i = 0; i < thread_count_; ++i) {
    Fiber& one = *fibers_[i];
    one.state = Fiber::State::ready;
    one.view = View();
    one.view.clock[i] = 1;
    one.old_reads = 0;
    one.history = i;
    ::getcontext(&one.context);
    one.context.uc_stack.ss_sp = one.stack.data();
    one.context.uc_stack.ss_size = one.stack.size();
    one.context.uc_link = nullptr;
    ::makecontext(&one.context, begin_fiber, 0);
  }
  current_ = 0;
  is_running_ = true;
  // leave() returns here a second time.
  volatile bool has_begun = false;
  ::getcontext(&home_);
  if (!has_begun) {
    has_begun = true;
    ::setcontext(&fibers_[0]->context);
  }
  is_running_ = false;
  const bool has_ended = std::all_of(fibers_.begin(), fibers_.begin() + static_cast<std::ptrdiff_t>(thread_count_),
                                     [](const auto& one) { return one->state == Fiber::State::ended; });
  if (has_ended && failure_.empty() && scenario.at_end) {
    scenario.at_end();
  }
}

std::size_t add_location(std::uint64_t initial) {
  return engine().add_location(initial);
}
std::size_t add_plain() {
  return engine().add_plain();
}
std::uint64_t load(std::size_t location, std::memory_order order) {
  return engine().load(location, order);
}
void store(std::size_t location, std::uint64_t value, std::memory_order order) {
  engine().store(location, value, order);
}
std::uint64_t change(std::size_t location, std::memory_order order,
                     const std::function<std::uint64_t(std::uint64_t)>& change) {
  return engine().change(location, order, change);
}
bool compare_exchange(std::size_t location, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure) {
  return engine().compare_exchange(location, expected, desired, success, failure);
}
void note_plain_read(std::size_t plain, std::uint64_t value) {
  engine().note_plain_read(plain, value);
}
void note_plain_write(std::size_t plain) {
  engine().note_plain_write(plain);
}
void futex_wait(std::size_t location, std::uint64_t expected) {
  engine().futex_wait(location, expected);
}
void futex_wake_all(std::size_t location) {
  engine().futex_wake_all(location);
}

}  // namespace detail_of_interleavings

Exploration explore(const std::function<Scenario()>& make, unsigned most_old_reads) {
  detail_of_interleavings::Engine engine(most_old_reads);
  detail_of_interleavings::running_engine = &engine;
  const Exploration result = engine.explore(make);
  detail_of_interleavings::running_engine = nullptr;
  return result;
}

std::size_t current_thread() {
  return detail_of_interleavings::engine().current_thread();
}

void require(bool holds, const char* what) {
  if (!holds) {
    detail_of_interleavings::engine().fail(what);
  }
}

}  // namespace kymo::test
