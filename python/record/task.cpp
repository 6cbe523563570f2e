// follow(coroutine): a coroutine that behaves like the one within, and tells the recorder when it runs.
//
//     resumed    the thread enters the task's fiber, and the scope "await" closes
//     suspended  the scope "await" opens, and the thread leaves the fiber
//
// The first resumption opens a scope around the whole task, and a flow leads to it from the scope that created the
// task.
#include "task.hpp"

#include <unordered_map>
#include <vector>

#include <kymo/kymo.h>
#include <kymo/span.hpp>

#include "resuming.hpp"
#include "tracer.hpp"
#include "types.hpp"

namespace kymo::python {

namespace {

/// Tasks of one coroutine function. Lives until the process ends.
struct Kind {
  kymo_site* site = nullptr;
  std::string fiber_name;
  std::vector<kymo_fiber*> free;  ///< of ended tasks, for the next ones: a track holds tasks that do not overlap
};

/// A fiber holds memory of the pool, so those of a burst of tasks are given back.
constexpr std::size_t most_free = 256;
std::size_t free_count = 0;
constexpr std::size_t most_codes = 4096;
constexpr std::uint64_t flow_mark = std::uint64_t{1} << 62U;

kymo_site wait_site{0, 0, "await", "", "", 0, KYMO_SITE_WAIT};
std::uint64_t last_flow = 0;

Kind& kind_of(kymo_site* site) {
  static auto& kinds = *new std::unordered_map<kymo_site*, Kind>;
  Kind& kind = kinds[site];
  if (kind.site == nullptr) {
    kind.site = site;
    kind.fiber_name = std::string("task ") + site->name;
  }
  return kind;
}

std::string text_attribute(PyObject* object, const char* name) {
  const Owned value(PyObject_GetAttrString(object, name));
  PyErr_Clear();
  return value && PyUnicode_Check(value.get()) ? Text(value.get()).str() : std::string();
}

/// An attribute of the frame of a coroutine that has not begun; null if there is none.
Owned frame_attribute(PyObject* coroutine, const char* name) {
  const Owned frame(PyObject_GetAttrString(coroutine, "cr_frame"));
  Owned value(frame && frame.get() != Py_None ? PyObject_GetAttrString(frame.get(), name) : nullptr);
  PyErr_Clear();
  return value;
}

/// The name of the module in which a coroutine that has not begun was defined.
std::string module_of(PyObject* coroutine) {
  const Owned globals = frame_attribute(coroutine, "f_globals");
  PyObject* const name =
      globals && PyDict_Check(globals.get()) ? PyDict_GetItemString(globals.get(), "__name__") : nullptr;
  return name != nullptr && PyUnicode_Check(name) ? Text(name).str() : std::string();
}

/// Null for the loop's own housekeeping.
kymo_site* intern_coroutine(PyObject* coroutine, PyObject* code) {
  const std::string module = module_of(coroutine);
  if (module.rfind("asyncio.", 0) == 0) {
    return nullptr;
  }
  const std::string function = text_attribute(coroutine, "__qualname__");
  const auto* const place = reinterpret_cast<PyCodeObject*>(code);
  return intern_site(module.empty() ? function : module + "." + function, function, Text(place->co_filename).view(),
                     static_cast<unsigned>(place->co_firstlineno));
}

/// The coroutine that a task of asyncio.wait_for() runs in itself, where that does not make a task of its own.
Owned waited_for(PyObject* coroutine) {
  if (text_attribute(coroutine, "__qualname__") != "wait_for" || module_of(coroutine) != "asyncio.tasks") {
    return {};
  }
  const Owned locals = frame_attribute(coroutine, "f_locals");
  Owned inner(locals ? PyMapping_GetItemString(locals.get(), "fut") : nullptr);
  const Owned timeout(locals ? PyMapping_GetItemString(locals.get(), "timeout") : nullptr);
  PyErr_Clear();
  const bool is_same_task = PY_VERSION_HEX >= 0x030C0000 || timeout.get() == Py_None;
  return inner && is_same_task && PyCoro_CheckExact(inner.get()) ? std::move(inner) : Owned();
}

/// The site of a coroutine's function. Null, without an exception, if it is not recorded.
kymo_site* site_of(PyObject* coroutine) {
  if (const Owned inner = waited_for(coroutine)) {
    return site_of(inner.get());
  }
  // Holds references, so that an address stays the same code.
  static auto& sites = *new std::unordered_map<PyObject*, kymo_site*>;
  const Owned code(PyObject_GetAttrString(coroutine, "cr_code"));
  PyErr_Clear();
  if (!code || !PyCode_Check(code.get())) {
    return nullptr;
  }
  if (const auto found = sites.find(code.get()); found != sites.end()) {
    return found->second;
  }
  kymo_site* const site = intern_coroutine(coroutine, code.get());
  if (sites.size() < most_codes) {
    sites.emplace(Py_NewRef(code.get()), site);
  }
  return site;
}

PyTypeObject task_type = unready_type("kymograph._record.task");

}  // namespace

struct Task {
  PyObject_HEAD PyObject* inner;
  PyObject* weak_references;
  ProfiledSite place;
  Kind* kind;
  kymo_fiber* fiber;   ///< null until it runs while scopes are recorded; then one is open on it until the task ends
  std::uint64_t flow;  ///< from the scope that created it; 0: none
  detail::ScopeToken whole;
  detail::ScopeToken wait;
  bool is_running;
  bool has_begun;
};

thread_local RunningTask running_task __attribute__((tls_model("initial-exec"))) = {nullptr, false, false};

namespace {

Task& task_of(PyObject* self) {
  return *reinterpret_cast<Task*>(self);
}

kymo_fiber* take_fiber(Kind& kind) {
  if (kind.free.empty()) {
    return kymo_fiber_create(kind.fiber_name.data(), kind.fiber_name.size());
  }
  kymo_fiber* const fiber = kind.free.back();
  kind.free.pop_back();
  --free_count;
  return fiber;
}

void end_fiber(Task& task) {
  kymo_fiber_destroy(std::exchange(task.fiber, nullptr));
}

/// After its last scope was closed.
void give_back_fiber(Task& task) {
  if (free_count < most_free) {
    task.kind->free.push_back(std::exchange(task.fiber, nullptr));
    ++free_count;
  } else {
    end_fiber(task);
  }
}

void open_whole(Task& task) {
  task.whole = open_profiled(task.place);
  if (is_recorded(task.whole) && task.flow != 0) {
    kymo::flow_end(task.flow);
  }
  task.flow = 0;
}

/// For the running task.
void enter_fiber(kymo_fiber* fiber) {
  const bool is_shown = detail::scopes_on();
  running_task.is_entered = fiber != nullptr && kymo_fiber_enter(fiber) != 0;
  running_task.is_shown = is_shown && running_task.is_entered;
}

void enter(Task& task) {
  if (task.fiber == nullptr) {
    task.fiber = take_fiber(*task.kind);
  }
  enter_fiber(task.fiber);
  if (!running_task.is_entered) {
    return;
  }
  close_in_any_order(std::exchange(task.wait, {}));
  if (task.whole.word == 0) {
    open_whole(task);
  }
}

void leave(Task& task, bool is_over) {
  if (is_over) {
    close_in_any_order(std::exchange(task.whole, {}));
  } else if (detail::scopes_on()) {
    task.wait = detail::open_scope(wait_site);
  }
  kymo_fiber_leave();
  if (is_over) {
    give_back_fiber(task);
  }
}

/// From a resumption to the next suspension, on this thread.
class Stretch {
 public:
  Stretch(PyObject* self, bool can_begin)
      : kept_(Owned::of(self)),
        inner_(Owned::of(task_of(self).inner)),
        around_(running_task),
        is_idle_(task_of(self).is_running || !(task_of(self).has_begun || can_begin)) {
    if (is_idle_) {
      return;
    }
    task_of(self).has_begun = true;
    if (around_.is_entered) {
      kymo_fiber_leave();  // an eager task runs within the one that creates it
    }
    task_of(self).is_running = true;
    running_task = {&task_of(self), false, false};
    // While scopes are off too, as those that are open close on their own track only.
    if (task_of(self).fiber != nullptr || detail::scopes_on()) {
      enter(task_of(self));
    }
  }
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;
  ~Stretch() {
    if (is_idle_) {
      return;
    }
    Task& task = task_of(kept_.get());
    if (running_task.is_entered) {
      leave(task, is_over_);
    } else if (is_over_) {
      end_fiber(task);
    }
    task.is_running = false;
    running_task = around_;
    if (around_.is_entered) {
      enter_fiber(around_.task->fiber);
    }
  }

  [[nodiscard]] PyObject* inner() const { return inner_.get(); }
  void set_over(bool is_over) { is_over_ = is_over; }

 private:
  Owned kept_;
  Owned inner_;
  RunningTask around_;
  bool is_idle_;  ///< no line runs: it is resumed by itself, which raises an exception, or cancelled before it began
  bool is_over_ = true;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(task_of(self).inner);
  return 0;
}

/// Sets None instead: other objects in the same collection may still call it.
int clear(PyObject* self) {
  const Owned inner(std::exchange(task_of(self).inner, Py_NewRef(Py_None)));
  return 0;
}

void drop(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Task& task = task_of(self);
  if (task.weak_references != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  // Its scopes are still open: the recorder closes them with the fiber.
  kymo_fiber_destroy(task.fiber);
  Py_CLEAR(task.inner);
  PyObject_GC_Del(self);
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(task_of(self).inner, name);
}

PyObject* represent(PyObject* self) {
  return PyObject_Repr(task_of(self).inner);
}

/// follow(coroutine, /)
PyObject* follow(PyObject*, PyObject* coroutine) {
  ProfiledSite place;
  if (!is_tracing() && !take_profiled_site(coroutine, place) && PyCoro_CheckExact(coroutine)) {
    place.site = site_of(coroutine);
  }
  if (place.site == nullptr) {
    return Py_NewRef(coroutine);
  }
  auto* const made = PyObject_GC_New(Task, &task_type);
  if (made == nullptr) {
    return nullptr;
  }
  made->inner = Py_NewRef(coroutine);
  made->weak_references = nullptr;
  made->place = place;
  made->kind = &kind_of(place.site);
  made->fiber = nullptr;
  made->flow = 0;
  made->whole = {};
  made->wait = {};
  made->is_running = false;
  made->has_begun = false;
  if (detail::scopes_on() && detail::depth_of(kymo_thread_v3->key) > 0) {
    made->flow = flow_mark | ++last_flow;
    kymo::flow_begin(made->flow);
  }
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

PyAsyncMethods task_async = {PyObject_SelfIter, nullptr, nullptr, send_fast<Stretch>};

}  // namespace

void enter_running_task() {
  if (running_task.is_entered) {
    kymo_fiber_leave();
  }
  enter(*running_task.task);
}

bool add_task_type(PyObject* /*module*/) {
  task_type.tp_basicsize = sizeof(Task);
  task_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  task_type.tp_weaklistoffset = offsetof(Task, weak_references);
  task_type.tp_dealloc = drop;
  task_type.tp_traverse = traverse;
  task_type.tp_clear = clear;
  task_type.tp_getattro = get_attribute;
  task_type.tp_repr = represent;
  task_type.tp_methods = resuming_methods<Stretch>;
  task_type.tp_as_async = &task_async;
  task_type.tp_iternext = next<Stretch>;
  return PyType_Ready(&task_type) == 0;
}

PyMethodDef task_functions[] = {
    {"follow", follow, METH_O,
     PyDoc_STR("follow($module, coroutine, /)\n--\n\n"
               "Return a coroutine that does what another one does, on a track of its own.")},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
