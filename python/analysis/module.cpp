// kymo._analysis: captures, statistics and the benchmark kit for Python.
#include "module.hpp"

NB_MODULE(_analysis, module) {
  module.doc() = "Captures, statistics and the benchmark kit.";
  kymo::python::add_capture(module);
}
