// kymograph._analysis: imports other tools' recordings as captures.
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <kymo/import.hpp>

#include "parts.hpp"

namespace nb = nanobind;

namespace kymo::python {

void add_imports(nb::module_& module) {
  [[maybe_unused]] const nb::exception<ImportError> type(module, "RecordingError", PyExc_ValueError);
  module.def("import_chrome_trace", [](const std::string& trace, const std::string& capture, const std::string& name) {
    ImportReport report;
    {
      const nb::gil_scoped_release released;
      ImportOptions options;
      options.name = name;
      report = import_chrome_trace(trace, capture, options);
    }
    nb::list losses;
    for (const ImportLoss& loss : report.losses) {
      losses.append(nb::make_tuple(loss.what, loss.count, loss.is_damage));
    }
    return nb::make_tuple(report.output, report.spans, report.frames, report.samples, report.messages,
                          report.flow_points, report.sync_points, losses, report.stopped);
  });
}

}  // namespace kymo::python
