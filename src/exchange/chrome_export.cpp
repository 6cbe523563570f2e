#include "exchange/chrome_export.hpp"

#include <utility>

#include "exchange/chrome_trace.hpp"
#include "exchange/replacing_file.hpp"

namespace kymo::exchange {

void export_chrome_trace(const NextBatch& next, const std::string& path) {
  replace_file(path, [&next](OutputFile file) {
    ChromeTraceWriter writer(std::move(file), TraceContainer::object);
    for (EventBatch batch; next(batch); batch = EventBatch()) {
      writer.write(batch);
    }
    writer.finish();
  });
}

}  // namespace kymo::exchange
