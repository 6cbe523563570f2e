// Makes captures of traces whose events have the form of Chrome's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <kymo/import.hpp>

#include "exchange/chrome/event_reader.hpp"
#include "exchange/import/input.hpp"
#include "exchange/import/losses.hpp"

namespace kymo::exchange {

struct TraceFormat {
  std::string name;  ///< "chrome"
  std::string noun;  ///< "Chrome trace"
  std::function<std::unique_ptr<TraceEventSource>(ImportInput&, ImportLosses&)> open;
};

/// Throws as import_chrome_trace() does.
[[nodiscard]] ImportReport import_trace(const TraceFormat& format, const std::string& trace, const std::string& capture,
                                        const ImportOptions& options);

}  // namespace kymo::exchange
