// Runs a few threads in every order that their atomic accesses can come in, with every value that each of them may see:
// loads that are not ordered read old values too, as they do on arm64. Code that is a template over its atomics is
// tried with those of this file; it needs no luck and no machine of that kind to go wrong.
//
// The model is the release-acquire and relaxed part of C++20's, with sequentially consistent accesses, data races of
// Plain values and futexes. Stores come last in the order of their location's changes, so that of two threads' stores
// to one place the later one in time always wins; a compare-and-exchange never fails for no reason; nothing is read
// that was not yet written; a thread sees an old value where there is a newer one only so many times, so that loops
// end. States that were met before are not gone through again.
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

/// What a thread has seen, or what whoever reads a value sees by that: per location the newest change, per thread how
/// far it was.
struct View {
  static constexpr std::size_t most_locations = 20;
  static constexpr std::size_t most_threads = 4;

  std::array<std::uint8_t, most_locations> seen{};
  std::array<std::uint8_t, most_threads> clock{};

  void join(const View& other);
  [[nodiscard]] std::uint64_t hash() const;
};

/// One set of threads over memory that is made anew for each order.
struct Scenario {
  std::vector<std::function<void()>> threads;
  std::function<void()> at_end;  ///< after all threads have ended: sees every change
};

struct Exploration {
  std::uint64_t orders = 0;  ///< that were run to their end, or to a state that was met before
  std::uint64_t states = 0;
  std::string failure;  ///< what went wrong, and the accesses up to there; empty when nothing can
};

/// Tries all orders of what `make` makes, and stops at the first failure. Threads of a scenario own nothing on their
/// stacks: an order that leads to a known state is left in the middle. Each thread reads at most `most_old_reads`
/// values that are not the newest.
Exploration explore(const std::function<Scenario()>& make, unsigned most_old_reads = 4);

/// In a scenario's thread or at its end: fails the order that is being run.
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

/// In place of std::atomic<T>, for integers, enumerations and bool.
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

  /// Sleeps while the value is this, until somebody wakes those who do.
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

/// A value that is not atomic: two accesses, one of them a write, of which neither happens before the other, are a
/// failure.
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
