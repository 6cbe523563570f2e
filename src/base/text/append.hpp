// Appends one list to another.
#pragma once

#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::base {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  // One by one: inserting a range produces ten times the code for every type.
  for (const T& row : more) {
    to.push_back(row);
  }
}

/// Appends every declaration of a set to another set, unchanged.
inline void append(Declarations& to, const Declarations& more) {
  append(to.processes, more.processes);
  append(to.infos, more.infos);
  append(to.names, more.names);
  append(to.modules, more.modules);
  append(to.sites, more.sites);
  append(to.tracks, more.tracks);
  append(to.metrics, more.metrics);
  append(to.frame_streams, more.frame_streams);
}

}  // namespace kymo::base
