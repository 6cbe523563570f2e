// Ids in messages of failed assertions are numbers, not bytes. Precompiled with gtest, so that every test prints alike.
#pragma once

#include <ostream>

#include <kymo/ids.hpp>

namespace kymo {

template <IdKind kind>
void PrintTo(Id<kind> id, std::ostream* out) {  // NOLINT(readability-identifier-naming): the name that gtest looks for
  *out << id.value();
}

}  // namespace kymo
