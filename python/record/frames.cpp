// Frame marks, and which frames are open when a capture ends.
#include <algorithm>
#include <string>
#include <vector>

#include <pthread.h>

#include <kymo/kymo.hpp>

#include "types.hpp"

namespace kymo::python {

namespace {

struct Stream {
  std::string name;
  bool is_open = true;  ///< else its last mark ended a frame and began none
};

/// Streams that have a mark in the current recording. The GIL protects it.
std::vector<Stream>& marked_streams() {
  static auto* const streams = [] {
    // A forked child has marked nothing in its own capture.
    ::pthread_atfork(nullptr, nullptr, [] { marked_streams().clear(); });
    return new std::vector<Stream>;
  }();
  return *streams;
}

Stream* find_stream(std::string_view name) {
  std::vector<Stream>& streams = marked_streams();
  const auto found =
      std::find_if(streams.begin(), streams.end(), [name](const Stream& stream) { return stream.name == name; });
  return found != streams.end() ? &*found : nullptr;
}

/// The optional name of a stream; None is the main one.
bool read_stream(const char* function, PyObject* const* arguments, Py_ssize_t count, Text& stream) {
  if (count > 1) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most 1 argument (%zd given)", function, count);
    return false;
  }
  return count == 0 || arguments[0] == Py_None || read_text(arguments[0], "stream", stream);
}

PyObject* frame_mark(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Text name;
  if (!read_stream("frame_mark", arguments, count, name)) {
    return nullptr;
  }
  const std::string_view stream = name.view();
  Stream* const marked = find_stream(stream);
  // Marks are where one frame ends and the next begins. Another one after the end of a frame would count the time
  // between as a frame.
  if (marked == nullptr || marked->is_open) {
    kymo::frame_mark(stream);
  }
  if (marked != nullptr) {
    marked->is_open = true;
  } else if (kymo::is_recording()) {
    marked_streams().push_back({std::string(stream)});
  }
  Py_RETURN_NONE;
}

/// Begins no frame after the open one of a stream; with a mark at its end, the open one counts.
PyObject* close_frame(const char* function, PyObject* const* arguments, Py_ssize_t count, bool has_mark) {
  Text name;
  if (!read_stream(function, arguments, count, name)) {
    return nullptr;
  }
  const std::string_view stream = name.view();
  Stream* const marked = find_stream(stream);
  if (marked != nullptr && marked->is_open) {
    marked->is_open = false;
    if (has_mark) {
      kymo::frame_mark(stream);
    }
  }
  Py_RETURN_NONE;
}

PyObject* end_frame(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return close_frame("end_frame", arguments, count, true);
}

PyObject* drop_frame(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return close_frame("drop_frame", arguments, count, false);
}

PyObject* end_frames(PyObject*, PyObject*) {
  for (const Stream& stream : marked_streams()) {
    if (stream.is_open) {
      kymo::frame_mark(stream.name);
    }
  }
  marked_streams().clear();
  Py_RETURN_NONE;
}

}  // namespace

void forget_ended_frames() {
  std::vector<Stream>& streams = marked_streams();
  streams.erase(std::remove_if(streams.begin(), streams.end(), [](const Stream& stream) { return !stream.is_open; }),
                streams.end());
}

PyMethodDef frame_functions[] = {
    {"frame_mark", as_method(frame_mark), METH_FASTCALL,
     PyDoc_STR(
         "frame_mark($module, stream=None, /)\n--\n\n"
         "Begin a frame, such as a training step; the frame before it ends.\n\n"
         "The end of the capture ends the last one: 200 marks give 200 frames. `frames` marks a loop by itself.\n\n"
         "Parameters\n----------\nstream : str, optional\n"
         "    The frame stream; None is the program's main one. Frames of different streams are independent.")},
    {"end_frame", as_method(end_frame), METH_FASTCALL,
     PyDoc_STR("end_frame($module, stream=None, /)\n--\n\n"
               "End the open frame of a stream, and begin none. Does nothing where none is open.")},
    {"drop_frame", as_method(drop_frame), METH_FASTCALL,
     PyDoc_STR("drop_frame($module, stream=None, /)\n--\n\n"
               "Do not count the open frame of a stream. Does nothing where none is open.")},
    {"end_frames", end_frames, METH_NOARGS,
     PyDoc_STR("end_frames($module, /)\n--\n\nEnd the open frames of all streams.")},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
