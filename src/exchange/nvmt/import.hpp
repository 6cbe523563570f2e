// Imports an NVMT trace into a capture. docs/nvmt.md has the mapping.
#pragma once

#include <string>
#include <vector>

#include "exchange/nvmt/format.hpp"

namespace kymo::exchange {

/// The result of an import.
struct NvmtImportReport {
  std::string output;               ///< the requested name, or one with a suffix if that exists
  std::vector<std::string> losses;  ///< in words: what an export of the capture will not reproduce
};

/// Writes a trace as a capture: metrics under kymo's names with the source "nvmt", its sync points and its facts. Times
/// count from 0, the trace's start. export_nvmt() of the capture reproduces the trace's bytes except for `losses`.
///
/// `name` is the trace's name in messages. Throws NvmtError if times are not numbers, go back or exceed a century;
/// throws capture::WriteError.
NvmtImportReport import_nvmt(const NvmtTrace& trace, const std::string& name, const std::string& path);

}  // namespace kymo::exchange
