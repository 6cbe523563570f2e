// Thins the calls of leaf functions, which are short and call no others: one in so many is recorded.
#pragma once

#include <cstdint>

#include <kymo/detail/hot_path.hpp>

namespace kymo::python {

/// A function in the tracing: its site, and what its first calls were like.
struct TracedFunction {
  kymo_site* site = nullptr;          ///< null if it is left out
  kymo_site* thinned_site = nullptr;  ///< for the recorded ones of its calls, once they are thinned
  std::uint32_t calls = 0;            ///< looked at; then, since they are thinned
  std::uint32_t unlike_a_leaf = 0;    ///< of those looked at
};

/// Call everything here with the GIL held.
class LeafCalls {
 public:
  /// A call that tells what its function is like.
  struct Look {
    TracedFunction* function = nullptr;  ///< null: none
    std::uint64_t begun = 0;
    const std::uint64_t* cursor = nullptr;
  };

  /// From now on one call in `every` is recorded; 1: all. `longest`: what a leaf's call takes at most, in steps of the
  /// counter.
  static void thin(std::uint32_t every, std::uint64_t longest) {
    every_ = every;
    longest_ = longest;
  }
  [[nodiscard]] static bool are_thinned() { return every_ > 1; }
  /// Number of calls left out, for all threads.
  [[nodiscard]] static std::uint64_t left_out() { return left_out_; }
  /// Resets the count in a forked child.
  static void forget_left_out() { left_out_ = 0; }

  /// The site of a function's next call; null if that is left out.
  [[nodiscard]] static kymo_site* site_of_next(TracedFunction& function) {
    if (function.thinned_site == nullptr) {
      return function.site;
    }
    if (++function.calls % every_ != 0) {
      ++left_out_;
      return nullptr;
    }
    return function.thinned_site;
  }

  /// Begins to look at a call whose scope has opened, if its function is not known yet.
  [[nodiscard]] static Look look_at(TracedFunction& function) {
    const bool is_known = function.site == nullptr || function.thinned_site != nullptr || function.calls >= looked_at;
    if (!are_thinned() || is_known) {
      return {};
    }
    return {&function, detail::read_counter(), cursor_now()};
  }
  /// Before its scope closes.
  static void finish(const Look& look) {
    if (look.function != nullptr) {
      take(look);
    }
  }

 private:
  static constexpr std::uint32_t looked_at = 1000;

  static void take(const Look& look);
  /// Null for a thread that has recorded nothing.
  [[nodiscard]] static const std::uint64_t* cursor_now() {
    detail::ThreadState& state = *kymo_thread_v3;
    return detail::is_free(state.key) ? detail::cursor_of(state).load(__ATOMIC_RELAXED) : nullptr;
  }

  static inline std::uint32_t every_ = 1;
  static inline std::uint64_t longest_ = 0;
  static inline std::uint64_t left_out_ = 0;
};

}  // namespace kymo::python
