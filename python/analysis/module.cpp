// kymo._analysis: captures, statistics and the benchmark kit for Python.
#include <nanobind/nanobind.h>

#include <kymo/timeline.hpp>

namespace nb = nanobind;

NB_MODULE(_analysis, module) { module.doc() = "Captures, statistics and the benchmark kit."; }
