// Reads blocks in the background, a few at a time, so that the view's data is loaded in between.
#include <chrono>
#include <utility>

#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"

namespace kymo::panel {

struct PanelData::ScanPlaces {
  struct Place {
    std::size_t capture = 0;
    std::size_t block = 0;
    bool has_skipped_later = false;
  };

  std::shared_ptr<const BlockScan> scan;
  std::vector<Place> places;
  std::size_t next = 0;
};

void PanelData::scan(std::shared_ptr<const BlockScan> scan) {
  auto places = std::make_shared<ScanPlaces>();
  const std::vector<CaptureBlocks>& lists = provider_->blocks();
  for (std::size_t capture = 0; capture < lists.size(); ++capture) {
    bool has_skipped_later = false;
    for (std::size_t i = 0; i < lists[capture].blocks.size(); ++i) {
      const timeline::BlockPlace& block = lists[capture].blocks[i];
      if (capture == scan->capture.value_or(capture) && overlaps(block.start_ns, block.end_ns, scan->range)) {
        places->places.push_back({capture, provider_->first_block() + i, has_skipped_later});
      }
      has_skipped_later = has_skipped_later || block.start_ns > scan->range.end_ns;
    }
  }
  places->scan = std::move(scan);
  go_on_scanning(std::move(places));
}

void PanelData::go_on_scanning(std::shared_ptr<ScanPlaces> places) {
  worker_.ask([this, places = std::move(places)]() -> Worker::Delivery {
    const auto end = std::chrono::steady_clock::now() + options_.part_of_scan;
    while (places->next < places->places.size()) {
      const ScanPlaces::Place place = places->places[places->next++];
      std::shared_ptr<const EventBatch> batch;
      try {
        batch = provider_->read(place.capture, place.block, places->scan->parts);
      } catch (const std::exception&) {
        batch = nullptr;
      }
      places->scan->take(batch.get(), place.has_skipped_later);
      if (std::chrono::steady_clock::now() >= end) {
        break;
      }
    }
    return [this, places] {
      const bool is_done = places->next == places->places.size();
      if (places->scan->deliver(is_done) && !is_done) {
        go_on_scanning(places);
      }
    };
  });
}

}  // namespace kymo::panel
