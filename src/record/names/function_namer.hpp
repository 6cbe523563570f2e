// Names the functions met by compiler hooks from their modules' symbols, for the collector and for recovery after the
// program's end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <kymo/declarations.hpp>

#include "record/names/declaration_reader.hpp"
#include "record/names/symbols.hpp"

namespace kymo::record {

class FunctionNamer {
 public:
  /// Adds the functions' sites, and their modules if `into` lacks them. A function without a symbol is named
  /// "module+0x12ab". Takes a few microseconds per function and keeps 16 bytes per symbol of a module.
  void name(const std::vector<HookedSite>& hooked, Declarations& into);

 private:
  [[nodiscard]] FunctionName name_at(const ModuleDeclaration& module, std::uint64_t offset);
  [[nodiscard]] const SymbolIndex& symbols_of(const ModuleDeclaration& module);

  std::map<ModuleId, SymbolIndex> symbols_;
};

/// Names functions met by hooks in this process. Called by one thread at a time.
void name_hooked_sites(const std::vector<HookedSite>& hooked, Declarations& into);

}  // namespace kymo::record
