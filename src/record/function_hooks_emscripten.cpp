// Compiler hooks need the addresses of functions, which WebAssembly keeps to itself: none is ever met.
#include "record/function_hooks.hpp"

namespace kymo::record {

void name_hooked_sites(const std::vector<HookedSite>& /*hooked*/, Declarations& /*into*/) {}

}  // namespace kymo::record
