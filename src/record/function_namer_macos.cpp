// No function is hooked on macOS: there is nothing to name.
#include "record/function_namer.hpp"

namespace kymo::record {

void FunctionNamer::name(const std::vector<HookedSite>& /*hooked*/, Declarations& /*into*/) {}

}  // namespace kymo::record
