// Hooked functions are named from ELF symbols, which Mach-O files have none of: on macOS none is ever met.
#include "record/function_hooks.hpp"

namespace kymo::record {

void name_hooked_sites(const std::vector<HookedSite>& /*hooked*/, Declarations& /*into*/) {}

}  // namespace kymo::record
