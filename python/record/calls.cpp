// Turning recording on and off, captures, messages, facts. Functions that may block release the GIL.
#include <cmath>
#include <limits>

#include <kymo/kymo.hpp>

#include "types.hpp"

namespace kymo::python {

namespace {

PyObject* enable(PyObject*, PyObject*) {
  const bool was_on = kymo::is_recording();
  const bool is_on = without_lock([] { return kymo::enable(); });
  if (!was_on) {
    forget_ended_frames();
  }
  return PyBool_FromLong(is_on);
}

PyObject* disable(PyObject*, PyObject*) {
  without_lock([] { kymo::disable(); });
  Py_RETURN_NONE;
}

PyObject* is_recording(PyObject*, PyObject*) {
  return PyBool_FromLong(kymo::is_recording());
}

PyObject* is_recording_scopes(PyObject*, PyObject*) {
  return PyBool_FromLong(detail::scopes_on());
}

/// A duration in seconds. None or no argument: zero.
bool read_seconds(PyObject* value, const char* name, Nanoseconds& duration) {
  if (value == nullptr || value == Py_None) {
    return true;
  }
  const double seconds = PyFloat_AsDouble(value);
  if (PyErr_Occurred() != nullptr) {
    return false;
  }
  // 292 years, the range of nanoseconds in 64 bits.
  if (!(seconds > 0) || seconds >= 9.2e9) {
    PyErr_Format(PyExc_ValueError, "%s must be a positive number of seconds or None, not %R", name, value);
    return false;
  }
  duration = Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  return true;
}

/// None or no argument: unchanged.
bool read_bytes(PyObject* value, const char* name, std::uint64_t& bytes) {
  if (value == nullptr || value == Py_None) {
    return true;
  }
  const Owned number(PyNumber_Index(value));
  if (number.get() == nullptr) {
    PyErr_Format(PyExc_TypeError, "%s must be a whole number of bytes or None, not %R", name, value);
    return false;
  }
  bytes = PyLong_AsUnsignedLongLong(number.get());
  if (PyErr_Occurred() != nullptr || bytes == 0) {
    PyErr_Format(PyExc_ValueError, "%s must be a positive number of bytes or None, not %R", name, value);
    return false;
  }
  return true;
}

PyObject* start_capture(PyObject*, PyObject* positional, PyObject* named) {
  static const char* names[] = {"path", "keep_s", "keep_bytes", "max_bytes", "sync_period_s", "pool_bytes", nullptr};
  PyObject* path = nullptr;
  PyObject* keep_s = nullptr;
  PyObject* keep_bytes = nullptr;
  PyObject* max_bytes = nullptr;
  PyObject* sync_period_s = nullptr;
  PyObject* pool_bytes = nullptr;
  if (PyArg_ParseTupleAndKeywords(positional, named, "|O$OOOOO:start_capture", const_cast<char**>(names), &path,
                                  &keep_s, &keep_bytes, &max_bytes, &sync_period_s, &pool_bytes) == 0) {
    return nullptr;
  }
  CaptureOptions options;
  PyObject* encoded = nullptr;
  if (path != nullptr && PyUnicode_FSConverter(path, &encoded) == 0) {
    return nullptr;
  }
  const Owned kept(encoded);
  if (encoded != nullptr) {
    options.path = PyBytes_AS_STRING(encoded);
  }
  if (!read_seconds(keep_s, "keep_s", options.keep_duration) ||
      !read_bytes(keep_bytes, "keep_bytes", options.keep_bytes) ||
      !read_bytes(max_bytes, "max_bytes", options.max_bytes) ||
      !read_seconds(sync_period_s, "sync_period_s", options.sync_period) ||
      !read_bytes(pool_bytes, "pool_bytes", options.pool_bytes)) {
    return nullptr;
  }
  const bool is_started = without_lock([&] { return kymo::start_capture(options); });
  if (is_started) {
    forget_ended_frames();
  }
  return PyBool_FromLong(is_started);
}

PyObject* stop_capture(PyObject*, PyObject*) {
  return PyBool_FromLong(without_lock([] { return kymo::stop_capture(); }));
}

PyObject* start_sampling(PyObject*, PyObject*) {
  return PyBool_FromLong(without_lock([] {
    kymo::stop_sampling();
    return kymo::start_sampling();
  }));
}

PyObject* end_process(PyObject*, PyObject*) {
  without_lock([] { kymo_end_process_v1(); });
  Py_RETURN_NONE;
}

PyObject* capture_path(PyObject*, PyObject*) {
  const std::string path = without_lock([] { return std::string(kymo::capture_path().c_str()); });
  if (path.empty()) {
    Py_RETURN_NONE;
  }
  return PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
}

PyObject* trigger(PyObject*, PyObject*) {
  return PyBool_FromLong(without_lock([] { return kymo::trigger(); }));
}

PyObject* flush(PyObject*, PyObject*) {
  return PyBool_FromLong(without_lock([] { return kymo::flush(); }));
}

PyObject* sync(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(kymo::sync());
}

PyObject* message(PyObject*, PyObject* value) {
  Text text;
  if (!read_text(value, "text", text)) {
    return nullptr;
  }
  kymo::message(text.view());
  Py_RETURN_NONE;
}

PyObject* set_info(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Text key;
  if (count != 2) {
    return PyErr_Format(PyExc_TypeError, "set_info() takes a key and a value (%zd arguments given)", count);
  }
  if (!read_text(arguments[0], "key", key)) {
    return nullptr;
  }
  const Owned value(PyObject_Str(arguments[1]));
  if (!value) {
    return nullptr;
  }
  const Text text(value.get());
  without_lock([&] { kymo::set_info(key.view(), text.view()); });
  Py_RETURN_NONE;
}

PyObject* set_thread_name(PyObject*, PyObject* value) {
  Text name;
  if (!read_text(value, "name", name)) {
    return nullptr;
  }
  kymo::set_thread_name(name.view());
  Py_RETURN_NONE;
}

PyObject* prepare_thread(PyObject*, PyObject*) {
  return PyBool_FromLong(kymo::prepare_thread());
}

PyObject* calibrate(PyObject*, PyObject*) {
  return PyFloat_FromDouble(without_lock([] { return kymo::calibrate(); }));
}

PyObject* empty_scope_ns(PyObject*, PyObject*) {
  return PyFloat_FromDouble(without_lock([] { return kymo::empty_scope_ns(); }));
}

PyObject* current_memory_bytes(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(kymo::current_memory_bytes());
}

PyObject* version(PyObject*, PyObject*) {
  return PyUnicode_FromString(kymo::version());
}

}  // namespace

PyMethodDef recording_functions[] = {
    {"enable", enable, METH_NOARGS,
     PyDoc_STR("enable($module, /)\n--\n\n"
               "Arm what the KYMO_* environment variables ask for.\n\n"
               "Without any of them set nothing happens and nothing is recorded.\n\n"
               "Returns\n-------\nbool\n    Whether something is recorded now.")},
    {"disable", disable, METH_NOARGS,
     PyDoc_STR("disable($module, /)\n--\n\n"
               "Stop recording: the capture is finished. `enable` starts anew.")},
    {"is_recording", is_recording, METH_NOARGS,
     PyDoc_STR("is_recording($module, /)\n--\n\nReturn whether events are recorded.")},
    {"is_recording_scopes", is_recording_scopes, METH_NOARGS,
     PyDoc_STR("is_recording_scopes($module, /)\n--\n\nReturn whether scopes are recorded now.")},
    {"start_capture", as_method(start_capture), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR(
         "start_capture($module, /, path='kymo.kymo', *, keep_s=None, keep_bytes=None, max_bytes=None,\n"
         "              sync_period_s=None, pool_bytes=None)\n--\n\n"
         "Start a capture.\n\n"
         "Parameters\n----------\n"
         "path : str or os.PathLike\n"
         "    A file, or a directory in which each process writes a file of its own. ``%p`` is the process,\n"
         "    ``%h`` the host, ``%r`` the rank, ``%j`` the job. What exists is not overwritten: a suffix is added.\n"
         "keep_s : float, optional\n"
         "    Keep only the last stretch of so many seconds, which `trigger` writes.\n"
         "keep_bytes : int, optional\n"
         "    Keep only the last stretch of this size.\n"
         "max_bytes : int, optional\n"
         "    Past this size scopes stop and metrics go on.\n"
         "sync_period_s : float, optional\n"
         "    fsync this often.\n"
         "pool_bytes : int, optional\n"
         "    Size of the memory that events wait in, where it does not exist yet (16 MiB): 1 MiB to 16 GiB, and the\n"
         "    nearer of these for other sizes.\n\n"
         "Returns\n-------\nbool\n"
         "    False where it could not be started (said on stderr), or one is being written already: recording\n"
         "    does not end the program that it measures.")},
    {"stop_capture", stop_capture, METH_NOARGS,
     PyDoc_STR("stop_capture($module, /)\n--\n\n"
               "Finish the capture: everything recorded until now is in it.\n\n"
               "Returns\n-------\nbool\n    False where there is none.")},
    {"start_sampling", start_sampling, METH_NOARGS,
     PyDoc_STR("start_sampling($module, /)\n--\n\n"
               "Sample the machine and this process from now on, as KYMO_SAMPLE and KYMO_SENSORS say now.\n\n"
               "Returns\n-------\nbool\n    False where that is not possible.")},
    {"end_process", end_process, METH_NOARGS,
     PyDoc_STR("end_process($module, /)\n--\n\n"
               "Finish everything, as the process's end does, for a process that ends by _exit.")},
    {"capture_path", capture_path, METH_NOARGS,
     PyDoc_STR("capture_path($module, /)\n--\n\n"
               "Return the file that the running capture is written to, or None.")},
    {"trigger", trigger, METH_NOARGS,
     PyDoc_STR("trigger($module, /)\n--\n\n"
               "Write what a capture with `keep_s` or `keep_bytes` holds to its file.\n\n"
               "Returns\n-------\nbool\n    False where there is no such capture.")},
    {"flush", flush, METH_NOARGS,
     PyDoc_STR("flush($module, /)\n--\n\n"
               "Wait until everything recorded before the call is in the capture.\n\n"
               "Returns\n-------\nbool\n    False where that took longer than 10 s.")},
    {"sync", sync, METH_NOARGS,
     PyDoc_STR("sync($module, /)\n--\n\n"
               "Set a numbered mark, which begins a phase.\n\n"
               "Returns\n-------\nint\n    Its number: 1, 2, 3, ...; 0 while nothing is recorded.")},
    {"message", message, METH_O,
     PyDoc_STR("message($module, text, /)\n--\n\nRecord a text at this moment; cut at 4,096 bytes, with a mark.")},
    {"set_info", as_method(set_info), METH_FASTCALL,
     PyDoc_STR(
         "set_info($module, key, value, /)\n--\n\n"
         "Record a fact about the run; a later value of a key replaces the earlier one. The value is recorded as\n"
         "``str(value)``.")},
    {"set_thread_name", set_thread_name, METH_O,
     PyDoc_STR("set_thread_name($module, name, /)\n--\n\nName the calling thread's track.")},
    {"prepare_thread", prepare_thread, METH_NOARGS,
     PyDoc_STR("prepare_thread($module, /)\n--\n\n"
               "Take the calling thread's memory now, so that its first scope does not have to.")},
    {"calibrate", calibrate, METH_NOARGS,
     PyDoc_STR("calibrate($module, /)\n--\n\n"
               "Measure what a recorded scope of C++ costs on this machine now, in nanoseconds.")},
    {"empty_scope_ns", empty_scope_ns, METH_NOARGS,
     PyDoc_STR("empty_scope_ns($module, /)\n--\n\n"
               "Return what the last calibration measured; calibrate where there was none.")},
    {"current_memory_bytes", current_memory_bytes, METH_NOARGS,
     PyDoc_STR("current_memory_bytes($module, /)\n--\n\nReturn the resident memory of this process in bytes.")},
    {"version", version, METH_NOARGS, PyDoc_STR("version($module, /)\n--\n\nReturn the version of the recorder.")},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
