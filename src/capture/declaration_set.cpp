#include "capture/declaration_set.hpp"

namespace kymo::capture {
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

}  // namespace kymo::capture
