// Captures as Chrome traces.
#pragma once

#include <functional>

#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "capture/summary/frame_walk.hpp"
#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Fills in the next batch. Returns false if there is none.
using NextBatch = std::function<bool(EventBatch&)>;

/// Writes all batches as one Chrome trace, the object form with the facts of the run in otherData, and closes the file.
/// `open_async` returns the async spans without an end, once all batches are written. Holds one batch and what is open.
/// OutputError; what `next` throws passes through.
void write_chrome_trace(const NextBatch& next, base::OutputFile file, const std::function<SpanList()>& open_async,
                        const capture::FrameCounts& frames_before = {});

/// The same of a timeline.
ExportWriter write_chrome;

}  // namespace kymo::exchange
