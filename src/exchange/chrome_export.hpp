// From a capture's batches to a Chrome trace file.
#pragma once

#include <functional>
#include <string>

#include <kymo/events.hpp>

#include "exchange/replacing_file.hpp"

namespace kymo::exchange {

/// Fills in the next batch; false where there is none.
using NextBatch = std::function<bool(EventBatch&)>;

/// Writes all batches as one Chrome trace, the object form with the facts of the run in otherData.
///
/// The trace is written beside its place and renamed when it is complete, so `path` holds either what it held before or
/// all of the new trace. A pipe or a device is written directly. OutputError where the file cannot be written; what
/// `next` throws passes through. Holds one batch and what is open.
void export_chrome_trace(const NextBatch& next, const std::string& path, const Replacing& replacing = {{}, true, {}});

}  // namespace kymo::exchange
