// A value that one thread writes and others read. <atomic> has it too, but takes a C++20 compiler longer than all of
// kymo's headers together.
#pragma once

#include <kymo/export.hpp>

namespace kymo::detail {

/// Load and store of std::atomic. An order is a std::memory_order or one of the compiler's __ATOMIC_ constants, which
/// have the same values.
template <typename T>
class Shared {
 public:
  static_assert(__atomic_always_lock_free(sizeof(T), nullptr));

  constexpr Shared() noexcept = default;
  constexpr explicit Shared(T value) noexcept : value_(value) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  template <typename Order = int>
  [[nodiscard]] __attribute__((always_inline)) KYMO_SKIP
  T load(Order order = Order{__ATOMIC_SEQ_CST}) const noexcept {
    return __atomic_load_n(&value_, static_cast<int>(order));
  }

  template <typename Order = int>
  __attribute__((always_inline)) KYMO_SKIP
  void store(T value, Order order = Order{__ATOMIC_SEQ_CST}) noexcept {
    __atomic_store_n(&value_, value, static_cast<int>(order));
  }

 private:
  T value_ = {};
};

}  // namespace kymo::detail
