// Appends one list to another.
#pragma once

#include <vector>

#include <kymo/declarations.hpp>

#include "base/event_lists.hpp"

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
  for_each_declaration_list([](auto& rows, const auto& added) { append(rows, added); }, to, more);
}

/// A copy of a batch. A copy constructor of so many lists is six times as much code.
inline void copy(EventBatch& to, const EventBatch& from) {
  to.start_ns = from.start_ns;
  to.end_ns = from.end_ns;
  to.follows_loss = from.follows_loss;
  append(to.declarations, from.declarations);
  for_each_list([](auto& rows, const auto& added) { append(rows, added); }, to, from);
  to.text = from.text;
}

}  // namespace kymo::base
