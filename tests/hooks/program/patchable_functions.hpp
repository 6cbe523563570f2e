// Functions of an archive that is instrumented with PATCHABLE.
#pragma once

#include <kymo/export.hpp>

namespace patchable {

int leaf(int value);
int outer(int value);  ///< calls leaf() twice
int excluded(int value);
KYMO_SKIP
int skipped(int value);
int throws_from(int depth);
int catches_from(int depth);
int calls_last(int value);     ///< leaf() is the last thing it does
int uses_library(int values);  ///< calls functions of the C++ library that are not inlined

}  // namespace patchable
