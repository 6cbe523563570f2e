#include "call_stack.hpp"

#include <memory>

namespace kymo::python {

namespace {

/// Opens a scope that began at `start`. Returns false if the hot path cannot do it.
bool open_at(kymo_site& site, std::uint64_t start, detail::ScopeToken& token) {
  detail::ThreadState* const state = kymo_thread_v3;
  const std::uint64_t key = state->key;
  if (!detail::is_free(key) || (!detail::has_id(site) && kymo_declare_site_v1(&site) == 0)) {
    return false;
  }
  const std::uint32_t id = __atomic_load_n(&site.id, __ATOMIC_ACQUIRE);
  detail::make_busy(*state);
  detail::signal_fence();
  std::uint64_t* const cursor = detail::cursor_of(*state).load(__ATOMIC_RELAXED);
  const bool has_room = detail::has_room(state->scopes_end, cursor, detail::depth_of(key) + 2);
  if (has_room) {
    *cursor = detail::word_of(detail::open_tag(id), start);
    detail::cursor_of(*state).store(cursor + 1, __ATOMIC_RELEASE);
    token = {key + 1};
  }
  detail::signal_fence();
  state->key = has_room ? key + 1 : key;
  return has_room;
}

/// Whether the current chunk of this thread has room to open and close `count` scopes.
bool has_room_for(std::uint64_t count) {
  detail::ThreadState& state = *kymo_thread_v3;
  return detail::is_free(state.key) &&
         detail::has_room(state.scopes_end, detail::cursor_of(state).load(__ATOMIC_RELAXED),
                          detail::depth_of(state.key) + 2 * count);
}

}  // namespace

__thread CallStack* CallStack::of_this_thread_ __attribute__((tls_model("initial-exec"))) = nullptr;

CallStack& CallStack::of_thread() {
  if (of_this_thread_ == nullptr) {
    // Deleted with the thread. Reads use the pointer, which needs no function call.
    thread_local const std::unique_ptr<CallStack> owned(new CallStack);
    of_this_thread_ = owned.get();
  }
  return *of_this_thread_;
}

/// Defers the open unless there would be no room to write it later: a new chunk cannot hold earlier times. In that case
/// all deferred opens are written at once, however short the calls.
void CallStack::begin(Call& call) {
  if (!detail::is_free(kymo_thread_v3->key)) {
    static_cast<void>(kymo_prepare_thread());
  }
  const std::uint64_t now = detail::read_counter();
  if (held_back_ != 0) {
    if (!has_room_for(held_back_ + 2) || now - calls_[first_held_back_].start >= shortest_) {
      write_held_back();
    }
  }
  if (!has_room_for(held_back_ + 2)) {
    write_held_back();
    call.token = detail::open_scope(*call.site);
    return;
  }
  if (held_back_ == 0) {
    first_held_back_ = calls_.size();
  }
  ++held_back_;
  call.start = now;
}

void CallStack::finish_held_back(const Call& call) {
  if (detail::read_counter() - call.start >= shortest_) {
    write_held_back();
    close_in_any_order(calls_.back().token);
    return;
  }
  --held_back_;
  ++left_out_;
}

void CallStack::write_held_back() {
  for (std::size_t i = first_held_back_; held_back_ != 0 && i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (call.start == 0) {
      continue;
    }
    if (!open_at(*call.site, call.start, call.token)) {
      call.token = detail::open_scope(*call.site);
    }
    call.start = 0;
    --held_back_;
  }
  held_back_ = 0;
}

void CallStack::begin_child() {
  left_out_ = 0;
  if (of_this_thread_ != nullptr) {
    for (Call& call : of_this_thread_->calls_) {
      call.start = 0;
    }
    of_this_thread_->held_back_ = 0;
  }
}

void CallStack::pop_all() {
  write_held_back();
  while (!calls_.empty()) {
    pop();
  }
}

}  // namespace kymo::python
