// A thread's calls that are recorded as scopes while a script is traced, innermost last.
#pragma once

#include <cstdint>
#include <vector>

#include <kymo/kymo.h>

#include "leaf_calls.hpp"
#include "open_scope.hpp"

namespace kymo::python {

/// The stack of one thread. With a minimum duration, a call's open is deferred until the call has lasted that long or
/// something inside it is recorded. The open is then written with the call's start time. A call that ends earlier is
/// only counted.
class CallStack {
 public:
  /// The calling thread's stack, created on first use.
  static CallStack& of_thread();

  /// The minimum duration in steps of the counter, for all threads. Shorter calls are left out.
  static void set_shortest(std::uint64_t counter_steps) { shortest_ = counter_steps; }
  [[nodiscard]] static bool has_shortest() { return shortest_ != 0; }
  /// Number of calls left out, for all threads.
  [[nodiscard]] static std::uint64_t left_out() { return left_out_; }
  /// In a forked child, the calls that are open belong to the parent, and so does the count.
  static void begin_child();

  /// Writes the opens that this thread has deferred. Call before anything else opens a scope. About 1 ns.
  static void write_deferred() {
    if (of_this_thread_ != nullptr) {
      of_this_thread_->write_held_back();
    }
  }

  /// A call begins. A null site is not recorded but takes a place. `owner` identifies calls, see pop_to.
  void push(kymo_site* site, const void* owner) {
    Call call{site, owner, 0, {}, {}};
    if (site != nullptr && detail::scopes_on()) {
      if (shortest_ == 0) {
        call.token = detail::open_scope(*site);
      } else {
        begin(call);
      }
    }
    calls_.push_back(call);
  }
  /// The same for a function's call, which may be thinned.
  void push(TracedFunction& function, const void* owner) {
    push(LeafCalls::site_of_next(function), owner);
    calls_.back().look = LeafCalls::look_at(function);
  }

  /// The innermost call ends. Does nothing if none is known, because it began before the tracing.
  void pop() {
    if (calls_.empty()) {
      return;
    }
    const Call call = calls_.back();
    LeafCalls::finish(call.look);
    if (call.start != 0) {
      finish_held_back(call);
    } else {
      close_in_any_order(call.token);
    }
    calls_.pop_back();
  }

  [[nodiscard]] const void* innermost() const { return calls_.empty() ? nullptr : calls_.back().owner; }

  /// Ends all calls, for the end of the tracing.
  void pop_all();

 private:
  struct Call {
    kymo_site* site;
    const void* owner;
    std::uint64_t start;  ///< start time while its open is deferred; else 0
    detail::ScopeToken token;
    LeafCalls::Look look;
  };

  CallStack() { calls_.reserve(256); }

  void begin(Call& call);
  void finish_held_back(const Call& call);
  void write_held_back();

  static __thread CallStack* of_this_thread_ __attribute__((tls_model("initial-exec")));
  static inline std::uint64_t shortest_ = 0;
  static inline std::uint64_t left_out_ = 0;  // protected by the GIL

  std::vector<Call> calls_;
  std::size_t first_held_back_ = 0;  // calls from here on are deferred or have no site
  std::size_t held_back_ = 0;
};

}  // namespace kymo::python
