#include "base/declaration_set.hpp"

#include <utility>

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

void DeclarationSet::forget_tracks(const std::vector<TrackId>& ids) {
  std::vector<TrackDeclaration>& rows = all_.tracks;
  for (const TrackId id : ids) {
    if (const auto found = tracks_.find(id); found != tracks_.end()) {
      rows[found->second].id = 0;
      tracks_.erase(found);
    }
  }
  std::size_t kept = 0;
  for (TrackDeclaration& row : rows) {
    if (row.id != 0) {
      tracks_[row.id] = kept;
      std::swap(rows[kept++], row);
    }
  }
  rows.resize(kept);
}

}  // namespace kymo::base
