// Generators, coroutines and async generators of profiled functions.
//
// In a task of an event loop, what is awaited is one scope from its beginning to its end, as each task has a track of
// its own. Elsewhere each resumption is a scope, until it yields, awaits or ends: none is open while it waits.
#include "profiled.hpp"
#include "resuming.hpp"
#include "task.hpp"
#include "tracer.hpp"
#include "types.hpp"

namespace kymo::python {

namespace {

/// No line runs by a resumption of what has ended, or of what runs, which raises an exception.
enum class Progress : std::uint8_t { created, suspended, running, ended };

struct Resumable {
  PyObject_HEAD PyObject* inner;
  PyObject* weak_references;
  ProfiledSite place;
  detail::ScopeToken whole;  ///< of a scope that spans several resumptions
  Progress progress;
  bool is_task;  ///< its task has the scope
};

PyTypeObject generator_type = unready_type("kymograph._record.profiled_generator");
PyTypeObject coroutine_type = unready_type("kymograph._record.profiled_coroutine");
PyTypeObject async_generator_type = unready_type("kymograph._record.profiled_async_generator");

Resumable& resumable(PyObject* self) {
  return *reinterpret_cast<Resumable*>(self);
}

/// One resumption. Keeps the inner object alive while it runs, because its code may drop the outer one.
class Running {
 public:
  Running(PyObject* self, bool can_begin)
      : self_(Owned::of(self)),
        inner_(Owned::of(resumable(self).inner)),
        is_idle_(!runs_by(resumable(self).progress, can_begin)),
        frame_(open() ? resumable(self).place.code : nullptr) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (is_idle_) {
      return;
    }
    close_in_any_order(stretch_);
    // Other objects that are awaited may go on after an exception.
    const bool has_ended = is_over_ && (PyGen_CheckExact(inner()) || PyCoro_CheckExact(inner()));
    resumable(self_.get()).progress = has_ended ? Progress::ended : Progress::suspended;
    if (is_over_) {
      close_in_any_order(std::exchange(resumable(self_.get()).whole, {}));
    }
  }

  [[nodiscard]] PyObject* inner() const { return inner_.get(); }
  void set_over(bool is_over) { is_over_ = is_over; }

 private:
  static bool runs_by(Progress progress, bool can_begin) {
    return progress == Progress::suspended || (progress == Progress::created && can_begin);
  }

  bool open() {
    if (is_idle_) {
      return false;
    }
    Resumable& of = resumable(self_.get());
    of.progress = Progress::running;
    if (of.is_task || of.whole.word != 0 || !detail::scopes_on()) {
      return false;
    }
    const bool is_whole = is_in_task() && Py_IS_TYPE(self_.get(), &coroutine_type);
    (is_whole ? of.whole : stretch_) = open_profiled(of.place);
    return true;
  }

  Owned self_;
  Owned inner_;
  bool is_idle_;  ///< no line runs
  detail::ScopeToken stretch_;
  ProfiledFrame frame_;
  bool is_over_ = true;
};

const char* const asend_name = "asend";
const char* const athrow_name = "athrow";
const char* const aclose_name = "aclose";

/// Awaiting the result of an async generator's method resumes the generator.
PyObject* scoped_awaitable(PyObject* self, PyObject* awaitable) {
  return awaitable != nullptr ? make_resumable(Returns::coroutine, resumable(self).place, awaitable) : nullptr;
}

template <const char* const& Method>
PyObject* await_method(PyObject* self, PyObject* arguments) {
  const Owned method(PyObject_GetAttrString(resumable(self).inner, Method));
  return method ? scoped_awaitable(self, PyObject_CallObject(method.get(), arguments)) : nullptr;
}

PyObject* async_next(PyObject* self) {
  const Owned method(PyObject_GetAttrString(resumable(self).inner, "__anext__"));
  return method ? scoped_awaitable(self, PyObject_CallNoArgs(method.get())) : nullptr;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(resumable(self).inner, name);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<kymo.profile of %R>", resumable(self).inner);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(resumable(self).inner);
  return 0;
}

/// Sets None instead: other objects in the same collection may still call it.
int clear(PyObject* self) {
  const Owned inner(std::exchange(resumable(self).inner, Py_NewRef(Py_None)));
  return 0;
}

void drop(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (resumable(self).weak_references != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  close_in_any_order(resumable(self).whole);
  Py_CLEAR(resumable(self).inner);
  PyObject_GC_Del(self);
}

PyMethodDef async_generator_methods[] = {
    {"asend", await_method<asend_name>, METH_VARARGS, nullptr},
    {"athrow", await_method<athrow_name>, METH_VARARGS, nullptr},
    {"aclose", await_method<aclose_name>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyAsyncMethods generator_async = {nullptr, nullptr, nullptr, send_fast<Running>};
PyAsyncMethods coroutine_async = {PyObject_SelfIter, nullptr, nullptr, send_fast<Running>};
PyAsyncMethods async_generator_async = {nullptr, PyObject_SelfIter, async_next, nullptr};

void prepare_type(PyTypeObject& type, PyMethodDef* methods, PyAsyncMethods* async) {
  type.tp_basicsize = sizeof(Resumable);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  type.tp_weaklistoffset = offsetof(Resumable, weak_references);
  type.tp_dealloc = drop;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_getattro = get_attribute;
  type.tp_repr = represent;
  type.tp_methods = methods;
  type.tp_as_async = async;
}

}  // namespace

PyObject* make_resumable(Returns kind, const ProfiledSite& place, PyObject* inner) {
  PyTypeObject* const type = kind == Returns::generator   ? &generator_type
                             : kind == Returns::coroutine ? &coroutine_type
                                                          : &async_generator_type;
  auto* const made = PyObject_GC_New(Resumable, type);
  if (made == nullptr) {
    Py_DECREF(inner);
    return nullptr;
  }
  made->inner = inner;
  made->weak_references = nullptr;
  made->place = place;
  made->whole = {};
  // What resumes an async generator may begin it by any method.
  made->progress = PyGen_CheckExact(inner) || PyCoro_CheckExact(inner) ? Progress::created : Progress::suspended;
  made->is_task = false;
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

bool take_profiled_site(PyObject* coroutine, ProfiledSite& place) {
  if (!Py_IS_TYPE(coroutine, &coroutine_type) || resumable(coroutine).whole.word != 0 ||
      resumable(coroutine).progress == Progress::ended) {
    return false;
  }
  resumable(coroutine).is_task = true;
  place = resumable(coroutine).place;
  return true;
}

bool add_resumable_types(PyObject* /*module*/) {
  prepare_type(generator_type, resuming_methods<Running>, &generator_async);
  generator_type.tp_iter = PyObject_SelfIter;
  generator_type.tp_iternext = next<Running>;
  prepare_type(coroutine_type, resuming_methods<Running>, &coroutine_async);
  coroutine_type.tp_iternext = next<Running>;
  prepare_type(async_generator_type, async_generator_methods, &async_generator_async);
  return PyType_Ready(&generator_type) == 0 && PyType_Ready(&coroutine_type) == 0 &&
         PyType_Ready(&async_generator_type) == 0;
}

}  // namespace kymo::python
