// Sampled stacks in pprof's format, for `go tool pprof`, speedscope, Grafana and other viewers.
//
//   Profile      string table, functions, locations, mappings, samples: each a message that refers to the others by ids
//   Sample       the locations of one stack, the innermost first; values; labels thread, tid, pid
//
// A location is a function: kymo's stacks have no places inside of functions. Samples of one stack and one thread are
// added up.
#pragma once

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Writes an uncompressed profile. Takes 50 bytes a stack of each thread.
ExportWriter write_pprof;

}  // namespace kymo::exchange
