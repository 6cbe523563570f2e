// What each thread did in all, as rows of dicts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <kymo/thread_activity.hpp>

#include "capture.hpp"
#include "selection.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

nb::list thread_activity_of(const SnapshotHandle& snapshot, std::int64_t start_ns, std::int64_t end_ns,
                            std::vector<std::string> threads, const FrameNumbers& frames,
                            std::optional<std::uint64_t> phase) {
  std::vector<ThreadActivity> found;
  {
    const nb::gil_scoped_release release;
    const SelectionOptions part = make_selection(start_ns, end_ns, {}, std::move(threads), frames, phase);
    found = read_thread_activity(*snapshot.timeline, part);
  }
  nb::list rows;
  for (const ThreadActivity& thread : found) {
    nb::dict row;
    row["thread"] = make_text(thread.name);
    row["thread_id"] = thread.os_thread_id;
    row["pid"] = thread.pid;
    row["run_states"] = nb::none();
    if (thread.times) {
      nb::dict times;
      times["running_ns"] = thread.times->running_ns;
      times["runnable_ns"] = thread.times->runnable_ns;
      times["blocked_ns"] = thread.times->blocked_ns;
      row["run_states"] = times;
    }
    row["migrations"] = nb::cast(thread.migrations);
    row["minor_faults"] = nb::cast(thread.minor_faults);
    row["major_faults"] = nb::cast(thread.major_faults);
    rows.append(row);
  }
  return rows;
}

}  // namespace

void add_thread_activity(nb::class_<SnapshotHandle>& snapshot) {
  snapshot.def("thread_activity", thread_activity_of, nb::kw_only(), nb::arg("start_ns"), nb::arg("end_ns"),
               nb::arg("threads"), nb::arg("frames").none(), nb::arg("phase").none());
}

}  // namespace kymo::python
