// All public imports except Chrome traces. Each reads its format and reports what it left out in the same form.
#include <kymo/import.hpp>

#include <utility>

#include "exchange/nvmt/format.hpp"
#include "exchange/nvmt/import.hpp"
#include "exchange/vor/format.hpp"
#include "exchange/vor/import.hpp"

namespace kymo {

namespace {

std::vector<ImportLoss> losses_of(std::vector<std::string> texts, bool is_damage) {
  std::vector<ImportLoss> losses;
  losses.reserve(texts.size());
  for (std::string& text : texts) {
    losses.push_back({std::move(text), 1, is_damage});
  }
  return losses;
}

}  // namespace

ImportReport import_nvmt(const std::string& trace, const std::string& capture) {
  try {
    const exchange::NvmtTrace read = exchange::read_nvmt(trace);
    exchange::NvmtImportReport imported = exchange::import_nvmt(read, trace, capture);
    ImportReport report;
    report.output = std::move(imported.output);
    report.samples = read.fast.size() + read.medium.size() + read.slow.size();
    report.sync_points = read.sync.size();
    report.losses = losses_of(std::move(imported.losses), false);
    return report;
  } catch (const exchange::NvmtError& error) {
    throw ImportError(error.what());
  }
}

ImportReport import_vor(const std::string& stream, const std::string& capture, const ImportOptions& options) {
  try {
    exchange::VorReader reader(stream);
    exchange::VorImportReport imported = exchange::import_vor(reader, capture, options.on_progress);
    ImportReport report;
    report.output = std::move(imported.output);
    report.spans = imported.scopes;
    report.frames = imported.frames;
    report.samples = imported.samples;
    report.losses = losses_of(std::move(imported.losses), true);
    return report;
  } catch (const exchange::VorError& error) {
    throw ImportError(error.what());
  }
}

}  // namespace kymo
