// Spans, frames and samples as CSV: a header line, lines that end in \n, a field quoted (RFC 4180) only where it holds
// a comma, a quote or a line break.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <kymo/timeline.hpp>

#include "exchange/output_file.hpp"

namespace kymo::exchange {

/// The first line of each, by which kymo knows its own files.
inline constexpr std::string_view spans_csv_header =
    "process,track,kind,name,category,start_ns,duration_ns,self_ns,depth,async_id,marks,arguments\n";
inline constexpr std::string_view frames_csv_header = "process,stream,number,start_ns,duration_ns\n";
inline constexpr std::string_view metrics_csv_header = "process,metric,labels,unit,time_ns,value,stale\n";

/// Appends a field, not the comma before it: valid UTF-8, quoted where it must be.
void append_csv_field(std::string& out, std::string_view text);

/// Each writes all rows and closes the file; `on_progress`, where there is one, is told the share that is done.
void write_spans_csv(const Timeline& timeline, OutputFile& file, const std::function<void(double)>& on_progress = {});
void write_frames_csv(const Timeline& timeline, OutputFile& file, const std::function<void(double)>& on_progress = {});
void write_metrics_csv(const Timeline& timeline, OutputFile& file, const std::function<void(double)>& on_progress = {});

}  // namespace kymo::exchange
