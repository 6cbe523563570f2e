#include "base/declaration_set.hpp"

#include <type_traits>

#include "base/event_lists.hpp"

namespace kymo::base {
void DeclarationSet::add(const Declarations& more) {
  const auto put_all = [this]<typename Row>(std::vector<Row>& rows, const std::vector<Row>& added) {
    const auto put = [&rows](auto& places, const auto& key, const Row& row) {
      const auto [place, is_new] = places.emplace(key, rows.size());
      if (is_new) {
        rows.push_back(row);
      } else {
        rows[place->second] = row;
      }
    };
    for (const Row& row : added) {
      if constexpr (std::is_same_v<Row, InfoDeclaration>) {
        put(infos_, std::pair(row.process, row.key), row);
      } else {
        put(places_of(decltype(row.id)::kind), row.id.value(), row);
      }
    }
  };
  for_each_declaration_list(put_all, all_, more);
}

const TrackDeclaration* DeclarationSet::find_track(TrackId id) const {
  const Places& tracks = places_[static_cast<std::size_t>(IdKind::track)];
  const auto found = tracks.find(id.value());
  return found != tracks.end() ? &all_.tracks[found->second] : nullptr;
}

void DeclarationSet::forget_tracks(const std::vector<TrackId>& ids) {
  std::vector<TrackDeclaration>& rows = all_.tracks;
  Places& places = places_of(IdKind::track);
  for (const TrackId id : ids) {
    if (const auto found = places.find(id.value()); found != places.end()) {
      rows[found->second].id = {};
      places.erase(found);
    }
  }
  std::size_t kept = 0;
  for (TrackDeclaration& row : rows) {
    if (row.id) {
      places[row.id.value()] = kept;
      std::swap(rows[kept++], row);
    }
  }
  rows.resize(kept);
}

}  // namespace kymo::base
