// Gathers the spans that hold a text.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "panel/lists/lists.hpp"
#include "timeline/span_builder.hpp"

namespace kymo::panel {

class FoundGatherer {
 public:
  /// Takes the names that hold the text from those declared so far.
  FoundGatherer(const ListKey& key, const BlockProvider& provider);

  [[nodiscard]] BlockScan scan() const;
  void take(std::size_t capture, const EventBatch* batch);
  [[nodiscard]] const FoundList& result();

 private:
  void look_at(const SpanList& spans);
  void keep_first();

  ListKey key_;
  std::unordered_set<NameId> names_;  // that hold the text
  std::unordered_map<TrackId, timeline::SpanBuilder> tracks_;
  SpanList spans_;  // of a run
  FoundList list_;
};

}  // namespace kymo::panel
