// Captures as .vor streams.
#pragma once

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Writes the frames of a process's main stream as a .vor stream and closes the file. ExchangeError if the process does
/// not exist, or if none is asked for and none or several marked frames.
VorExportReport report_vor(const Timeline& timeline, base::OutputFile file, const ExportRequest& request);

/// The same as the table of exporters takes it.
ExportWriter write_vor;

}  // namespace kymo::exchange
