// Counts lost events.
#include "panel/data/drop_counts.hpp"

#include <algorithm>
#include <utility>

#include "panel/data/panel_data.hpp"

namespace kymo::panel {

void PanelData::count_drops() {
  if (provider_->facts().knows_drops || drop_counter_.is_reading) {
    return;
  }
  const std::vector<CaptureBlocks>& lists = provider_->blocks();
  while (drop_counter_.next.size() < lists.size()) {
    const std::size_t blocks = lists[drop_counter_.next.size()].blocks.size();
    drop_counter_.is_whole = drop_counter_.is_whole && blocks <= DropCounter::most_blocks;
    drop_counter_.next.push_back(blocks - std::min(blocks, DropCounter::most_blocks));
  }
  constexpr std::size_t most_at_once = 16;
  std::vector<std::pair<std::size_t, std::size_t>> wanted;
  for (std::size_t capture = 0; capture < lists.size(); ++capture) {
    std::size_t& next = drop_counter_.next[capture];
    for (; next < lists[capture].blocks.size() && wanted.size() < most_at_once; ++next) {
      wanted.emplace_back(capture, next);
    }
  }
  if (wanted.empty()) {
    return;
  }
  drop_counter_.is_reading = true;
  worker_.ask([this, wanted = std::move(wanted)] {
    std::vector<std::shared_ptr<const EventBatch>> batches;
    for (const auto& [capture, number] : wanted) {
      try {
        batches.push_back(provider_->read(capture, number, BatchParts::sequences));
      } catch (const std::exception&) {
        // An unreadable block reports no losses.
      }
    }
    return [this, batches = std::move(batches)] {
      for (const auto& batch : batches) {
        if (batch != nullptr) {
          drop_counter_.take(*batch);
        }
      }
      drop_counter_.is_reading = false;
    };
  });
}

DropCounts PanelData::drops() const {
  const ProviderFacts facts = provider_->facts();
  return facts.knows_drops ? DropCounts{facts.dropped_scopes, facts.dropped_others, true} : drop_counter_.counts();
}

}  // namespace kymo::panel
