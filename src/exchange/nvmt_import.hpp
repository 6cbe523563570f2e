// From an NVMT trace to a capture. docs/nvmt.md has the table of what becomes what.
#pragma once

#include <string>
#include <vector>

#include "exchange/nvmt.hpp"

namespace kymo::exchange {

/// What an import wrote.
struct NvmtImportReport {
  std::string output;               ///< the name asked for, or one with a suffix where that exists
  std::vector<std::string> losses;  ///< what an export of the capture will not give back, in words
};

/// Writes a trace as a capture: metrics under kymo's names with the source "nvmt", its sync points, its facts. Times
/// count from 0, the trace's start. export_nvmt() of the capture gives the bytes of the trace back, but for what
/// `losses` tells.
///
/// `name` is the trace's in messages. NvmtError where times are no numbers, go back or are beyond a century;
/// capture::WriteError.
NvmtImportReport import_nvmt(const NvmtTrace& trace, const std::string& name, const std::string& path);

}  // namespace kymo::exchange
