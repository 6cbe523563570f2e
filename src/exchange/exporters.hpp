// The formats that captures are exported to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// In the order of the command's help.
[[nodiscard]] std::span<const Exporter> exporters() noexcept;

/// Exports a timeline to `path`, as kymo/exchange.hpp says of all exports. Returns what the format cannot hold, as
/// texts.
std::vector<std::string> export_timeline(const Exporter& exporter, const Timeline& timeline, const std::string& path,
                                         const ExportOptions& options, ProcessId process = {},
                                         ArrowTable table = ArrowTable::spans, StacksOf stacks = StacksOf::scopes);

}  // namespace kymo::exchange
