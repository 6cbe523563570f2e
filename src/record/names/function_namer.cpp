#include "record/names/function_namer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "base/text/text.hpp"

namespace kymo::record {

namespace {

std::string cut(std::string text) {
  if (text.size() <= longest_declared_text) {
    return text;
  }
  return std::string(base::cut_text(text, longest_declared_text - base::cut_mark.size())).append(base::cut_mark);
}

std::string in_hex(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

/// The file to read for a module. The running executable may have been replaced at its path: then the link's text ends
/// in " (deleted)", and the link still opens the right file.
std::string file_of(const std::string& path) {
  constexpr std::string_view self = "/proc/self/exe";
  constexpr std::string_view replaced_mark = " (deleted)";
  std::array<char, 4096> text{};
  const ssize_t size = ::readlink(self.data(), text.data(), text.size());
  std::string_view running(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  if (running.size() > replaced_mark.size() && running.substr(running.size() - replaced_mark.size()) == replaced_mark) {
    running.remove_suffix(replaced_mark.size());
  }
  return running == path ? std::string(self) : path;
}

}  // namespace

const SymbolIndex& FunctionNamer::symbols_of(const ModuleDeclaration& module) {
  const auto known = symbols_.find(module.id);
  if (known != symbols_.end()) {
    return known->second;
  }
  SymbolIndex index = SymbolIndex::read(file_of(module.path), BuildId::from_hex(module.build_id));
  return symbols_.emplace(module.id, std::move(index)).first->second;
}

FunctionName FunctionNamer::name_at(const ModuleDeclaration& module, std::uint64_t offset) {
  // An unreadable file leaves its functions without names; everything else is recorded.
  try {
    const std::string symbol = symbols_of(module).name_at(offset);
    return symbol.empty() ? FunctionName() : demangle(symbol);
  } catch (const std::exception&) {
    return {};
  }
}

void FunctionNamer::name(const std::vector<HookedSite>& hooked, Declarations& into) {
  for (const HookedSite& site : hooked) {
    SiteDeclaration declaration;
    declaration.id = site.id;
    declaration.kind = SiteKind::hooked;
    if (!site.module.id) {
      declaration.name = in_hex(site.address);
    } else {
      const auto is_it = [&](const ModuleDeclaration& known) { return known.id == site.module.id; };
      if (std::none_of(into.modules.begin(), into.modules.end(), is_it)) {
        into.modules.push_back(site.module);
      }
      declaration.module = site.module.id;
      declaration.module_offset = site.address - site.module.load_base;
      FunctionName name = name_at(site.module, declaration.module_offset);
      const std::string& path = site.module.path;
      declaration.name = name.qualified.empty()
                             ? path.substr(path.rfind('/') + 1) + "+" + in_hex(declaration.module_offset)
                             : cut(std::move(name.qualified));
      declaration.function = cut(std::move(name.full));
    }
    into.sites.push_back(std::move(declaration));
  }
}

void name_hooked_sites(const std::vector<HookedSite>& hooked, Declarations& into) {
  static FunctionNamer& namer = *new FunctionNamer;  // the collector may outlive static objects
  namer.name(hooked, into);
}

}  // namespace kymo::record
