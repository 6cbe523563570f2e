// Runs a few threads in every possible order of their atomic accesses, with every value that each access may see.
// Unordered loads read old values too, as on arm64. Code that is a template over its atomics is tested with the atomics
// in this file. Errors show up without luck or such a machine.
//
// The model is the release-acquire and relaxed part of C++20's, with sequentially consistent accesses, data races of
// Plain values and futexes. Its limits:
// - A store is always the last change of its location, so of two threads' stores to one location the later in time
//   wins.
// - A compare-and-exchange never fails spuriously.
// - Nothing is read before it was written.
// - A thread sees an old value only a limited number of times while there is a newer one, so that loops end.
//
// Known states are not explored again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace kymo::test {

/// What a thread has seen, or sees by reading a value: the newest change of each location, and each thread's progress.
struct View {
  static constexpr std::size_t most_locations = 20;
  static constexpr std::size_t most_threads = 4;

  std::array<std::uint8_t, most_locations> seen{};
  std::array<std::uint8_t, most_threads> clock{};

  void join(const View& other);
  [[nodiscard]] std::uint64_t hash() const;
};

/// A set of threads over memory that is created anew for each order.
struct Scenario {
  std::vector<std::function<void()>> threads;
  std::function<void()> at_end;  ///< runs after all threads have ended and sees every change
};

struct Exploration {
  std::uint64_t orders = 0;  ///< orders run to the end or to a known state
  std::uint64_t states = 0;
  std::string failure;  ///< the failure and the accesses up to it; empty if there is none
};

/// Tries all orders of the scenario from `make` and stops at the first failure. Threads must not own anything on their
/// stacks, because an order that leads to a known state is abandoned. Each thread reads at most `most_old_reads` values
/// that are not the newest.
Exploration explore(const std::function<Scenario()>& make, unsigned most_old_reads = 4);

/// In a scenario's thread or at its end: fails the current order unless it holds.
void require(bool holds, const char* what);

/// In a scenario's thread: its number.
[[nodiscard]] std::size_t current_thread();

namespace detail_of_interleavings {

class Engine;
Engine& engine();

std::size_t add_location(std::uint64_t initial);
std::size_t add_plain();
std::uint64_t load(std::size_t location, std::memory_order order);
void store(std::size_t location, std::uint64_t value, std::memory_order order);
std::uint64_t change(std::size_t location, std::memory_order order,
                     const std::function<std::uint64_t(std::uint64_t)>& change);
bool compare_exchange(std::size_t location, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure);
void note_plain_read(std::size_t plain, std::uint64_t value);
void note_plain_write(std::size_t plain);
void futex_wait(std::size_t location, std::uint64_t expected);
void futex_wake_all(std::size_t location);

}  // namespace detail_of_interleavings

/// Replaces std::atomic<T> for integers, enumerations and bool.
template <typename T>
class ModelAtomic {
 public:
  explicit ModelAtomic(T initial = T{}) : location_(detail_of_interleavings::add_location(to_bits(initial))) {}
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  [[nodiscard]] T load(std::memory_order order = std::memory_order_seq_cst) const {
    return to_value(detail_of_interleavings::load(location_, order));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    detail_of_interleavings::store(location_, to_bits(value), order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return change(order, [value](T) { return value; });
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    return change(order, [value](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) {
    return change(order, [value](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, std::memory_order order = std::memory_order_seq_cst) {
    return change(order, [value](T old) { return static_cast<T>(old | value); });
  }
  T fetch_and(T value, std::memory_order order = std::memory_order_seq_cst) {
    return change(order, [value](T old) { return static_cast<T>(old & value); });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    std::uint64_t bits = to_bits(expected);
    const bool is_changed =
        detail_of_interleavings::compare_exchange(location_, bits, to_bits(desired), success, failure);
    expected = to_value(bits);
    return is_changed;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired, order, without_release(order));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    return compare_exchange_strong(expected, desired, success, failure);
  }

  /// Sleeps while the value is this one, until woken.
  void wait_while(T value) { detail_of_interleavings::futex_wait(location_, to_bits(value)); }
  void wake_all() { detail_of_interleavings::futex_wake_all(location_); }

 private:
  static std::uint64_t to_bits(T value) { return static_cast<std::uint64_t>(value); }
  static T to_value(std::uint64_t bits) { return static_cast<T>(bits); }
  static std::memory_order without_release(std::memory_order order) {
    return order == std::memory_order_acq_rel   ? std::memory_order_acquire
           : order == std::memory_order_release ? std::memory_order_relaxed
                                                : order;
  }
  template <typename Change>
  T change(std::memory_order order, const Change& how) {
    return to_value(detail_of_interleavings::change(location_, order,
                                                    [&how](std::uint64_t old) { return to_bits(how(to_value(old))); }));
  }

  std::size_t location_;
};

/// A non-atomic value. Two accesses, one of them a write, are a failure if neither happens before the other.
template <typename T>
class Plain {
 public:
  explicit Plain(T initial = T{}) : plain_(detail_of_interleavings::add_plain()), value_(initial) {}
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  operator T() const {
    detail_of_interleavings::note_plain_read(plain_, static_cast<std::uint64_t>(value_));
    return value_;
  }
  Plain& operator=(T value) {
    detail_of_interleavings::note_plain_write(plain_);
    value_ = value;
    return *this;
  }

 private:
  std::size_t plain_;
  T value_;
};

}  // namespace kymo::test
