// Gathers the spans that hold a text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "panel/data/time_math.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/keep_first.hpp"
#include "panel/lists/lists.hpp"
#include "timeline/span_builder.hpp"

namespace kymo::panel {

class FoundList::Gatherer {
 public:
  /// Takes the names that hold the text from those declared so far.
  Gatherer(const ListKey& key, const BlockProvider& provider) : key_(key) {
    for (const NameDeclaration& name : provider.declarations().names) {
      if (!key_.text.empty() && contains_text(name.text, key_.text)) {
        names_.insert(name.id);
      }
    }
  }

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::everything, std::nullopt, {}, {}}; }

  void take(const EventBatch& batch) {
    if (key_.text.empty()) {
      return;
    }
    spans_ = {};
    for (const ScopeRun& run : batch.runs) {
      tracks_.try_emplace(run.track, run.track).first->second.take(run, batch.text, spans_);
    }
    timeline::append_span_events(batch, {}, spans_);
    look_at(spans_);
    if (list_.first.size() > 4 * most_rows) {
      sort();
    }
  }

  [[nodiscard]] const FoundList& result() {
    sort();
    return list_;
  }

 private:
  void look_at(const SpanList& spans) {
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

  void sort() {
    keep_first(list_.first, most_rows, [](const Row& a, const Row& b) {
      return a.key.start_ns != b.key.start_ns ? a.key.start_ns < b.key.start_ns : a.key.depth < b.key.depth;
    });
  }

  ListKey key_;
  std::unordered_set<NameId> names_;  // that hold the text
  std::unordered_map<TrackId, timeline::SpanBuilder> tracks_;
  SpanList spans_;  // of a run
  FoundList list_;
};

}  // namespace kymo::panel
