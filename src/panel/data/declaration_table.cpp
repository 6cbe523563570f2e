// The declarations of a program so far.
#include "panel/data/declaration_table.hpp"

#include <algorithm>
#include <vector>

namespace kymo::panel {

namespace {

template <typename Declaration>
auto place_of(const std::vector<Declaration>& all, decltype(Declaration::id) id) {
  return std::lower_bound(all.begin(), all.end(), id,
                          [](const Declaration& declared, decltype(id) key) { return declared.id < key; });
}

template <typename Declaration>
void add_each(std::vector<Declaration>& all, const std::vector<Declaration>& declared) {
  for (const Declaration& one : declared) {
    const auto place = place_of(all, one.id);
    if (place != all.end() && place->id == one.id) {
      all[static_cast<std::size_t>(place - all.begin())] = one;
    } else {
      all.insert(place, one);
    }
  }
}

template <typename Declaration>
const Declaration* find(const std::vector<Declaration>& all, decltype(Declaration::id) id) {
  const auto place = place_of(all, id);
  return place != all.end() && place->id == id ? &*place : nullptr;
}

template <typename Declaration>
const Declaration& find_or_undeclared(const std::vector<Declaration>& all, decltype(Declaration::id) id) {
  static const Declaration undeclared = [] {
    Declaration none;
    none.name = "(undeclared)";
    return none;
  }();
  const Declaration* const found = find(all, id);
  return found != nullptr ? *found : undeclared;
}

}  // namespace

void DeclarationTable::add(const Declarations& declared) {
  add_each(all_.names, declared.names);
  add_each(all_.sites, declared.sites);
  add_each(all_.tracks, declared.tracks);
  add_each(all_.threads, declared.threads);
  add_each(all_.processes, declared.processes);
  add_each(all_.metrics, declared.metrics);
  add_each(all_.frame_streams, declared.frame_streams);
}

const SiteDeclaration& DeclarationTable::site(SiteId id) const {
  return find_or_undeclared(all_.sites, id);
}

const TrackDeclaration& DeclarationTable::track(TrackId id) const {
  return find_or_undeclared(all_.tracks, id);
}

std::string_view DeclarationTable::name(NameId id) const {
  const NameDeclaration* const found = find(all_.names, id);
  return found != nullptr ? std::string_view(found->text) : std::string_view();
}

}  // namespace kymo::panel
