// Gathers the spans that hold a text.
#include "panel/lists/found_gatherer.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "panel/data/time_math.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel/draw/text.hpp"

namespace kymo::panel {

FoundGatherer::FoundGatherer(const ListKey& key, const BlockProvider& provider) : key_(key) {
  for (const NameDeclaration& name : provider.declarations().names) {
    if (!key_.text.empty() && contains_text(name.text, key_.text)) {
      names_.insert(name.id);
    }
  }
}

BlockScan FoundGatherer::scan() const {
  return {key_.range, BatchParts::everything, std::nullopt, {}, {}};
}

void FoundGatherer::take(std::size_t /*capture*/, const EventBatch* batch) {
  if (batch == nullptr || key_.text.empty()) {
    return;
  }
  spans_ = {};
  for (const ScopeRun& run : batch->runs) {
    tracks_.try_emplace(run.track, run.track).first->second.take(run, batch->text, spans_);
  }
  timeline::append_span_events(*batch, {}, spans_);
  look_at(spans_);
  if (list_.first.size() > 4 * FoundList::most_rows) {
    keep_first();
  }
}

void FoundGatherer::look_at(const SpanList& spans) {
  for (const Span& span : spans.spans) {
    const bool is_named = !span.site;
    const ArgumentValue* found = nullptr;
    std::string value;
    for (std::uint32_t i = 0; i < span.argument_count && found == nullptr; ++i) {
      const ArgumentValue& argument = spans.arguments[std::size_t{span.first_argument} + i];
      const std::string text = text_of_argument(
          argument, argument.type == ArgumentType::string ? spans.text_of(argument) : std::string_view());
      if (names_.count(argument.name) != 0 || contains_text(text, key_.text)) {
        found = &argument;
        value = text;
      }
    }
    if (found == nullptr && !(is_named && names_.count(span.name) != 0)) {
      continue;
    }
    ++list_.count;
    list_.first.push_back({{span.track, is_named ? base::SiteOrName(span.name) : span.site, span.depth, span.start_ns,
                            add_length(span.start_ns, span.duration_ns)},
                           found != nullptr ? found->name : NameId{},
                           std::move(value)});
  }
}

void FoundGatherer::keep_first() {
  std::vector<FoundList::Row>& rows = list_.first;
  const std::size_t kept = std::min(rows.size(), FoundList::most_rows);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(),
                    [](const FoundList::Row& a, const FoundList::Row& b) {
                      return a.key.start_ns != b.key.start_ns ? a.key.start_ns < b.key.start_ns
                                                              : a.key.depth < b.key.depth;
                    });
  rows.resize(kept);
}

const FoundList& FoundGatherer::result() {
  keep_first();
  return list_;
}

}  // namespace kymo::panel
