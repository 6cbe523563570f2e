#include "capture/merge/redaction.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace kymo::capture {
namespace {

/// Facts that stay; a key that ends in '.' stands for all keys with that prefix.
constexpr std::array<std::string_view, 16> harmless{
    "architecture", "browser", "clock.",   "cpu",   "cpu_count",   "cpu_governor",     "gpu.",        "kernel",
    "nvpmodel",     "record.", "sampler.", "board", "scope_every", "scope_max_frames", "site_filter", "started"};

bool is_harmless(std::string_view key) {
  return key != "record.command" && std::any_of(harmless.begin(), harmless.end(), [key](std::string_view known) {
           return known.back() == '.' ? key.substr(0, known.size()) == known : key == known;
         });
}

/// Cuts the directories of a text that is an absolute path.
void cut_where_absolute(std::string& text) {
  if (!text.empty() && text.front() == '/') {
    text.erase(0, text.rfind('/') + 1);
  }
}

void cut_directories(std::string& path) {
  path.erase(0, path.find_last_of("/\\") + 1);
}

}  // namespace

void redact(Declarations& declarations) {
  for (ProcessDeclaration& process : declarations.processes) {
    process.host.clear();
    process.command_line.clear();
  }
  auto& infos = declarations.infos;
  infos.erase(std::remove_if(infos.begin(), infos.end(), [](const auto& info) { return !is_harmless(info.key); }),
              infos.end());
  for (ModuleDeclaration& module : declarations.modules) {
    cut_directories(module.path);
  }
  for (SiteDeclaration& site : declarations.sites) {
    cut_directories(site.file);
  }
  for (MetricDeclaration& metric : declarations.metrics) {
    cut_where_absolute(metric.source);
    for (auto& [key, value] : metric.labels) {
      cut_where_absolute(value);
    }
  }
}

}  // namespace kymo::capture
