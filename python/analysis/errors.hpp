// C++ errors as Python's.
#pragma once

namespace kymo::python {

/// Makes kymo::CaptureError and the like kymo.CaptureError, with the path, the offset and what is wrong.
void register_errors();

}  // namespace kymo::python
