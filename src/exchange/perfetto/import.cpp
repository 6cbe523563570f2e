// Imports a Perfetto trace: its events take the way of a Chrome trace's.
#include <memory>
#include <string>

#include <kymo/import.hpp>

#include "exchange/chrome/import.hpp"
#include "exchange/perfetto/event_reader.hpp"

namespace kymo {

ImportReport import_perfetto_trace(const std::string& trace, const std::string& capture, const ImportOptions& options) {
  const exchange::TraceFormat format{"perfetto", "Perfetto trace",
                                     [](exchange::ImportInput& input, exchange::ImportLosses& losses) {
                                       return std::make_unique<exchange::PerfettoEventReader>(input, losses);
                                     }};
  return exchange::import_trace(format, trace, capture, options);
}

}  // namespace kymo
