// The calls of a thread that are recorded as scopes while a script is traced, innermost last.
#pragma once

#include <cstdint>
#include <vector>

#include <kymo/kymo.h>

#include "open_scope.hpp"

namespace kymo::python {

/// A stack of one thread. With a shortest duration, the open of a call is held back until the call has lasted so long,
/// or something within it is recorded; then it is written with the time at which the call began. What ends before
/// leaves no trace but a count.
class CallStack {
 public:
  /// The calling thread's, made on first use.
  static CallStack& of_thread();

  /// Calls shorter than this many steps of the counter are left out, by all threads.
  static void set_shortest(std::uint64_t counter_steps) { shortest_ = counter_steps; }
  [[nodiscard]] static bool has_shortest() { return shortest_ != 0; }
  /// How many calls of all threads were left out.
  [[nodiscard]] static std::uint64_t left_out() { return left_out_; }
  /// A forked child counts its own.
  static void forget_left_out() { left_out_ = 0; }

  /// A call begins. A null site is not recorded, but has its place. `owner` tells calls apart, see pop_to.
  void push(kymo_site* site, const void* owner) {
    Call call{site, owner, 0, {}};
    if (site != nullptr && detail::scopes_on()) {
      if (shortest_ == 0) {
        call.token = detail::open_scope(*site);
      } else {
        begin(call);
      }
    }
    calls_.push_back(call);
  }

  /// The innermost call ends. Does nothing where none is known: it began before the tracing.
  void pop() {
    if (calls_.empty()) {
      return;
    }
    const Call call = calls_.back();
    if (call.start != 0) {
      finish_held_back(call);
    } else {
      close_in_any_order(call.token);
    }
    calls_.pop_back();
  }

  [[nodiscard]] const void* innermost() const { return calls_.empty() ? nullptr : calls_.back().owner; }

  /// Ends all, as at the end of the tracing.
  void pop_all();

 private:
  struct Call {
    kymo_site* site;
    const void* owner;
    std::uint64_t start;  ///< when it began, while its open is held back; else 0
    detail::ScopeToken token;
  };

  CallStack() { calls_.reserve(256); }

  void begin(Call& call);
  void finish_held_back(const Call& call);
  void write_held_back();

  static inline std::uint64_t shortest_ = 0;
  static inline std::uint64_t left_out_ = 0;  // under the interpreter's lock

  std::vector<Call> calls_;
  std::size_t first_held_back_ = 0;  // all from here on are held back, or have no site
  std::size_t held_back_ = 0;
};

}  // namespace kymo::python
