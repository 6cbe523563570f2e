#include "exchange/chrome/export.hpp"

#include <string_view>
#include <utility>

#include "exchange/chrome/trace.hpp"
#include "exchange/common/timeline_batches.hpp"

namespace kymo::exchange {
namespace {

/// If a scope's first argument is a text named "category", makes it the scope's category. Thus an import keeps a
/// trace's cat. A function keeps its category, and a text that would change the kind of site stays an argument.
void move_category(std::string& text, std::size_t event, std::size_t arguments) {
  constexpr std::string_view opening = R"(,"args":{"category":")";
  constexpr std::string_view scope = R"(","cat":"scope","ph":)";
  constexpr std::size_t word = 9;  // offset of the category in `scope`
  if (text.compare(arguments, opening.size(), opening) != 0) {
    return;
  }
  // Quotes in names are escaped, so no name matches.
  const std::size_t cat = text.find(scope, event);
  const std::size_t begin = arguments + opening.size();
  std::size_t end = begin;
  while (text[end] != '"') {
    end += text[end] == '\\' ? 2U : 1U;
  }
  const std::string category = text.substr(begin, end - begin);
  if (cat == std::string::npos || category.empty() || category == "scope" || category == "function") {
    return;
  }
  if (text.compare(end, 2, "\",") == 0) {
    const std::size_t members = arguments + opening.size() - std::string_view(R"("category":")").size();
    text.erase(members, end + 2 - members);
  } else {
    text.erase(arguments);
  }
  text.replace(cat + word, std::string_view("scope").size(), category);
}

}  // namespace

void write_chrome_trace(const NextBatch& next, base::OutputFile file, const std::function<SpanList()>& open_async,
                        const capture::FrameCounts& frames_before) {
  ChromeTraceWriter writer(std::move(file), TraceContainer::object);
  writer.count_frames_before(frames_before);
  writer.edit_scopes(move_category);
  for (EventBatch batch; next(batch); batch = EventBatch()) {
    writer.write(batch);
    writer.write_states(batch);
  }
  writer.finish(open_async());
}

std::vector<std::string> write_chrome(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  TimelineBatches batches(timeline, request.on_progress);
  write_chrome_trace([&batches](EventBatch& batch) { return batches.next(batch); }, std::move(file),
                     [&batches] { return batches.open_async(); }, timeline::frames_before(timeline));
  return {};
}

}  // namespace kymo::exchange
