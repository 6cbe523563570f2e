// Reads blocks in the background, a few at a time, so that the view's data is loaded in between.
#include <chrono>
#include <utility>

#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"

namespace kymo::panel {

struct PanelData::ScanPlaces {
  struct Place {
    std::size_t number = 0;
    ScannedBlock block;
  };

  std::shared_ptr<const BlockScan> scan;
  std::vector<Place> places;
  std::size_t next = 0;
};

void PanelData::scan(std::shared_ptr<const BlockScan> scan) {
  auto places = std::make_shared<ScanPlaces>();
  const std::vector<CaptureBlocks>& lists = provider_->blocks();
  const bool has_scopes = scan->parts == BatchParts::scopes || scan->parts == BatchParts::everything;
  for (std::size_t capture = 0; capture < lists.size(); ++capture) {
    if (capture != scan->capture.value_or(capture)) {
      continue;
    }
    timeline::BlockChoice choice(scan->range);
    const std::size_t count = lists[capture].blocks.size();
    for (std::size_t i = 0; i < count; ++i) {
      const timeline::BlockPlace& block = lists[capture].blocks[i];
      const bool is_needed = has_scopes ? choice.needs(block.start_ns, block.end_ns, i + 1 == count)
                                        : overlaps(block.start_ns, block.end_ns, scan->range);
      if (is_needed) {
        places->places.push_back({provider_->first_block() + i, {capture, choice.skipped(), choice.needed_all()}});
      }
    }
  }
  places->scan = std::move(scan);
  go_on_scanning(std::move(places));
}

void PanelData::go_on_scanning(std::shared_ptr<ScanPlaces> places) {
  worker_.ask([this, places = std::move(places)]() -> Worker::Delivery {
    const auto end = std::chrono::steady_clock::now() + options_.part_of_scan;
    while (places->next < places->places.size()) {
      const ScanPlaces::Place& place = places->places[places->next++];
      std::shared_ptr<const EventBatch> batch;
      try {
        batch = provider_->read(place.block.capture, place.number, places->scan->parts);
      } catch (const std::exception&) {
        batch = nullptr;
      }
      places->scan->take(batch.get(), place.block);
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
