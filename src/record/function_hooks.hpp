// Compiler function hooks: what -finstrument-functions makes every function of a program call on entry and exit.
//
// A hook has no guard object to keep its scope's token in: each thread keeps a stack of its own, of the hooked
// functions that are open. An exit closes the innermost open scope of its function and drops what lies above it, which
// left without an exit (by an exception under Clang, by longjmp).
#pragma once

#include <vector>

#include <kymo/declarations.hpp>

#include "record/declaration_reader.hpp"

namespace kymo::record {

/// Names functions that hooks met; see FunctionNamer. Called by one thread at a time.
void name_hooked_sites(const std::vector<HookedSite>& hooked, Declarations& into);

}  // namespace kymo::record
