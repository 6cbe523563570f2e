#include "base/declaration_set.hpp"

#include <algorithm>

namespace kymo::base {
namespace {

template <typename Row, typename Places, typename Key>
void put(std::vector<Row>& rows, Places& places, const Key& key, const Row& row) {
  const auto [place, is_new] = places.emplace(key, rows.size());
  if (is_new) {
    rows.push_back(row);
  } else {
    rows[place->second] = row;
  }
}

template <typename Row, typename Places>
void put_all(std::vector<Row>& rows, Places& places, const std::vector<Row>& more) {
  for (const Row& row : more) {
    put(rows, places, row.id, row);
  }
}

}  // namespace

void DeclarationSet::add(const Declarations& more) {
  for (const InfoDeclaration& info : more.infos) {
    put(all_.infos, infos_, std::pair(info.process, info.key), info);
  }
  put_all(all_.processes, processes_, more.processes);
  put_all(all_.names, names_, more.names);
  put_all(all_.modules, modules_, more.modules);
  put_all(all_.sites, sites_, more.sites);
  put_all(all_.tracks, tracks_, more.tracks);
  put_all(all_.metrics, metrics_, more.metrics);
  put_all(all_.frame_streams, frame_streams_, more.frame_streams);
}

const TrackDeclaration* DeclarationSet::find_track(TrackId id) const {
  const auto found = tracks_.find(id);
  return found != tracks_.end() ? &all_.tracks[found->second] : nullptr;
}

void DeclarationSet::forget_tracks(const std::vector<TrackId>& sorted) {
  std::vector<TrackDeclaration>& rows = all_.tracks;
  rows.erase(std::remove_if(
                 rows.begin(), rows.end(),
                 [&](const TrackDeclaration& row) { return std::binary_search(sorted.begin(), sorted.end(), row.id); }),
             rows.end());
  tracks_.clear();
  for (std::size_t place = 0; place < rows.size(); ++place) {
    tracks_.emplace(rows[place].id, place);
  }
}

std::vector<TrackId> EndedTracks::take() {
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  return std::exchange(ids_, {});
}

}  // namespace kymo::base
