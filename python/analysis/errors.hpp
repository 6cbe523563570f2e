// Translates C++ errors to Python.
#pragma once

namespace kymo::python {

/// Translates kymo::CaptureError and similar to kymo.CaptureError with the path, the offset and the problem.
void register_errors();

}  // namespace kymo::python
