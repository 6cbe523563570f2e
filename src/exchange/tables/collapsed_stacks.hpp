// Stacks in the format of flame-graph tools: of scopes with the time spent in each, `thread;outer;inner <nanoseconds>`,
// or sampled ones with their number, `thread;outer;inner <samples>`.
#pragma once

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Holds about 100 bytes per stack and the open scopes. About 20 ns per scope.
ExportWriter write_collapsed_stacks;

}  // namespace kymo::exchange
