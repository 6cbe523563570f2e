// Records calls by evaluating frames (PEP 523), in all threads: the interpreter passes each frame to this hook, which
// evaluates it within a scope. Nothing is reported to Python, no frame object is created, and the interpreter keeps its
// specialised instructions. Before 3.14.
#include "c_stack.hpp"
#include "call_stack.hpp"
#include "tracer.hpp"

#include <frameobject.h>

#if PY_VERSION_HEX < 0x030E0000

namespace kymo::python {

namespace {

#if PY_VERSION_HEX >= 0x030C0000
using Frame = _PyInterpreterFrame;
/// The beginning of the frames of 3.12 and 3.13, which is not in the public headers.
struct FrameHead {
  PyCodeObject* code;
  Frame* caller;
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyFrameObject* object;
  const void* instruction;
  int stack_top;
  std::uint16_t return_offset;
  char owner;  ///< 0: a call's, 1: a generator's
};
#elif PY_VERSION_HEX >= 0x030B0000
using Frame = _PyInterpreterFrame;
/// The beginning of 3.11's frames, which is not in the public headers.
struct FrameHead {
  PyFunctionObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyCodeObject* code;
  PyFrameObject* object;
  Frame* caller;
  const void* instruction;
  int stack_top;
  bool is_entry;
  char owner;  ///< 0: a call's, 1: a generator's
};
#endif

#if PY_VERSION_HEX >= 0x030B0000
const FrameHead& head_of(const Frame* frame) {
  return *reinterpret_cast<const FrameHead*>(frame);
}

/// The call of a generator's function runs only up to the creation of the generator, none of the user's code.
bool only_makes_generator(const FrameHead& head) {
  return (head.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0 && head.owner == 0;
}
#else
using Frame = PyFrameObject;
struct FrameHead {
  PyObject* globals;
  PyCodeObject* code;
};

FrameHead head_of(const Frame* frame) {
  return {frame->f_globals, frame->f_code};
}

bool only_makes_generator(const FrameHead& /*head*/) {
  return false;
}
#endif

_PyFrameEvalFunction previous = nullptr;

#if PY_VERSION_HEX >= 0x030C0000
/// Without this hook, Python's functions call each other without nesting calls in C, so that such calls must not count
/// here either. A frame counts as so many at most.
constexpr int counted_c_calls = 2;

PyObject* evaluate_plainly(PyThreadState* thread, Frame* frame, int has_exception) {
  thread->c_recursion_remaining += counted_c_calls;
  PyObject* const result = previous(thread, frame, has_exception);
  thread->c_recursion_remaining -= counted_c_calls;
  return result;
}

/// Lets sys.monitoring report this call and all further ones, which then need no C stack. No Python code runs here, so
/// that no call of another thread is missed.
bool leave_to_monitoring() {
  const KeptException kept;
  end_frame_hook();
  if (begin_monitoring_hook(false)) {
    return true;
  }
  PyErr_Clear();
  begin_frame_hook();
  return false;
}
#else
PyObject* evaluate_plainly(PyThreadState* thread, Frame* frame, int has_exception) {
  return previous(thread, frame, has_exception);
}

bool leave_to_monitoring() {
  return false;
}
#endif

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
PyObject* getitem_name = nullptr;  // interned like all names of functions

/// Early releases of 3.11 run a hot __getitem__ within the caller's evaluation, where this hook does not see it: those
/// of functions whose version has no more than 16 bits. Versions are of no other use than to tell functions apart.
void keep_from_inlining(const FrameHead& head) {
  constexpr std::uint32_t first = 1U << 31U;
  static std::uint32_t last = first;
  if (head.code->co_name == getitem_name && head.function->func_version < first && last != UINT32_MAX) {
    head.function->func_version = last++;
  }
}
#else
void keep_from_inlining(const FrameHead& /*head*/) {}
#endif

PyObject* evaluate_thinned(TracedFunction& function, PyThreadState* thread, Frame* frame, int has_exception) {
  kymo_site* const site = LeafCalls::site_of_next(function);
  if (site == nullptr || !detail::scopes_on()) {
    return evaluate_plainly(thread, frame, has_exception);
  }
  const detail::ScopeToken token = detail::open_scope(*site);
  const LeafCalls::Look look = LeafCalls::look_at(function);
  PyObject* const result = evaluate_plainly(thread, frame, has_exception);
  LeafCalls::finish(look);
  close_in_any_order(token);
  return result;
}

PyObject* evaluate(PyThreadState* thread, Frame* frame, int has_exception) {
  const FrameHead& head = head_of(frame);
  keep_from_inlining(head);
  TracedFunction* function = known_function(head.code);
  if (function == nullptr) {
    function = &decide_function(head.code, head.globals);
  }
  if (is_stack_half_full()) {
    if (leave_to_monitoring()) {
      return previous(thread, frame, has_exception);
    }
    if (is_stack_full() && has_exception == 0) {
      set_recursion_error();
      has_exception = 1;  // so that the frame ends like by an exception in it
    }
  }
  if (function->site == nullptr || only_makes_generator(head) || is_inlined(head.code) ||
      take_profiled_frame(head.code)) {
    return evaluate_plainly(thread, frame, has_exception);
  }
  if (CallStack::has_shortest()) {
    CallStack& stack = CallStack::of_thread();
    stack.push(function->site, nullptr);
    PyObject* const result = evaluate_plainly(thread, frame, has_exception);
    stack.pop();
    return result;
  }
  if (LeafCalls::are_thinned()) {
    return evaluate_thinned(*function, thread, frame, has_exception);
  }
  const detail::ScopeToken token = detail::scopes_on() ? detail::open_scope(*function->site) : detail::ScopeToken{};
  PyObject* const result = evaluate_plainly(thread, frame, has_exception);
  close_in_any_order(token);
  return result;
}

}  // namespace

void begin_frame_hook() {
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
  getitem_name = PyUnicode_InternFromString("__getitem__");
#endif
  previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
}

void end_frame_hook() {
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  // Another hook installed since then may call this one.
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, previous);
  }
}

}  // namespace kymo::python

#endif
