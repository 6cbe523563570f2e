// Names functions that compiler hooks met, from the symbols of the modules that held them: for the collector, and for
// recovery after the program has gone.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <kymo/declarations.hpp>

#include "record/declaration_reader.hpp"
#include "record/symbols.hpp"

namespace kymo::record {

class FunctionNamer {
 public:
  /// Adds the functions' sites, and the modules that hold them where `into` does not have them yet. A function without
  /// a symbol is named "module+0x12ab". A few microseconds a function; 16 bytes are kept for each of a module's
  /// symbols.
  void name(const std::vector<HookedSite>& hooked, Declarations& into);

 private:
  [[nodiscard]] FunctionName name_at(const ModuleDeclaration& module, std::uint64_t offset);
  [[nodiscard]] const SymbolIndex& symbols_of(const ModuleDeclaration& module);

  std::map<ModuleId, SymbolIndex> symbols_;
};

}  // namespace kymo::record
