// Captures as NVMT traces.
#pragma once

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Writes a process's machine metrics as an NVMT trace and closes the file. ExchangeError if the process does not
/// exist, or if none is asked for and none or several have machine metrics.
NvmtExportReport report_nvmt(const Timeline& timeline, base::OutputFile file, const ExportRequest& request);

/// The same as the table of exporters takes it.
ExportWriter write_nvmt;

}  // namespace kymo::exchange
