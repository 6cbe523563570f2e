// kymograph._analysis: captures, statistics and the benchmark kit for Python.
#include "errors.hpp"
#include "parts.hpp"

NB_MODULE(_analysis, module) {
  module.doc() = "Captures, statistics and the benchmark kit.";
  kymo::python::register_errors();
  kymo::python::add_capture(module);
  kymo::python::add_comparison(module);
  kymo::python::add_imports(module);
  kymo::python::add_nvmetrics(module);
  kymo::python::add_bench(module);
}
