// Spans, frames and samples as CSV: a header line, lines that end in \n, and quotes (RFC 4180) only around fields that
// hold a comma, a quote or a line break.
#pragma once

#include <string>
#include <string_view>

#include <kymo/timeline.hpp>

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// The first line of each file, by which kymo recognises its own files.
inline constexpr std::string_view spans_csv_header =
    "process,track,kind,name,category,start_ns,duration_ns,self_ns,depth,async_id,marks,arguments,"
    "function,file,line,holder\n";
inline constexpr std::string_view frames_csv_header = "process,stream,number,start_ns,duration_ns\n";
inline constexpr std::string_view metrics_csv_header = "process,metric,labels,unit,time_ns,value,stale\n";

/// Appends a field without the comma before it: valid UTF-8, quoted if needed.
void append_csv_field(std::string& out, std::string_view text);

ExportWriter write_spans_csv, write_frames_csv, write_metrics_csv;

}  // namespace kymo::exchange
