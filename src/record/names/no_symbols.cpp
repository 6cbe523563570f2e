// macOS and browsers: no function is ever hooked there, since hooked functions are named from ELF symbols.
#include "record/names/function_namer.hpp"

namespace kymo::record {

void FunctionNamer::name(const std::vector<HookedSite>& /*hooked*/, Declarations& /*into*/) {}

void name_hooked_sites(const std::vector<HookedSite>& /*hooked*/, Declarations& /*into*/) {}

}  // namespace kymo::record
