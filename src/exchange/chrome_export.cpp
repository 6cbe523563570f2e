#include "exchange/chrome_export.hpp"

#include <string_view>
#include <utility>

#include "exchange/chrome_trace.hpp"
#include "exchange/replacing_file.hpp"

namespace kymo::exchange {
namespace {

/// Makes a scope's first argument its category where that is a text "category": so an import keeps what a trace calls
/// cat. A function stays one, and a text that would say what kind of site it is stays an argument.
void move_category(std::string& text, std::size_t event, std::size_t arguments) {
  constexpr std::string_view opening = R"(,"args":{"category":")";
  constexpr std::string_view scope = R"(","cat":"scope","ph":)";
  constexpr std::size_t word = 9;  // where it begins in `scope`
  if (text.compare(arguments, opening.size(), opening) != 0) {
    return;
  }
  // Quotes within names are escaped, so that no name looks like this.
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

void export_chrome_trace(const NextBatch& next, const std::string& path, const Replacing& replacing) {
  replace_file(path, replacing, [&next](OutputFile file) {
    ChromeTraceWriter writer(std::move(file), TraceContainer::object);
    writer.edit_scopes(move_category);
    for (EventBatch batch; next(batch); batch = EventBatch()) {
      writer.write(batch);
    }
    writer.finish();
  });
}

}  // namespace kymo::exchange
