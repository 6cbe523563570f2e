// Records calls by evaluating frames (PEP 523), in all threads: the interpreter passes each frame to this hook, which
// evaluates it within a scope. Nothing is reported to Python, no frame object is created, and the interpreter keeps its
// specialised instructions. Before 3.12.
#include "c_stack.hpp"
#include "call_stack.hpp"
#include "tracer.hpp"

#include <frameobject.h>

#if PY_VERSION_HEX < 0x030C0000

namespace kymo::python {

namespace {

#if PY_VERSION_HEX >= 0x030B0000
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

PyObject* evaluate(PyThreadState* thread, Frame* frame, int has_exception) {
  const FrameHead& head = head_of(frame);
  kymo_site* site = known_site(head.code);
  if (site == nullptr) {
    site = decide_site(head.code, head.globals);
  }
  if (is_stack_full() && has_exception == 0) {
    set_recursion_error();
    has_exception = 1;  // so that the frame ends like by an exception in it
  }
  if (site == &left_out_site || only_makes_generator(head)) {
    return previous(thread, frame, has_exception);
  }
  if (CallStack::has_shortest()) {
    CallStack& stack = CallStack::of_thread();
    stack.push(site, nullptr);
    PyObject* const result = previous(thread, frame, has_exception);
    stack.pop();
    return result;
  }
  const detail::ScopeToken token = detail::scopes_on() ? detail::open_scope(*site) : detail::ScopeToken{};
  PyObject* const result = previous(thread, frame, has_exception);
  close_in_any_order(token);
  return result;
}

}  // namespace

bool begin_frame_hook() {
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
  return true;
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
