#include "capture/merge/redaction.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text/metric_name.hpp"

namespace kymo::capture {
namespace {

/// Facts that stay; a key that ends in '.' stands for all keys with that prefix.
constexpr std::array<std::string_view, 18> harmless{
    "architecture", "browser",          "clock.",         "cpu",         "cpu_count", "cpu_governor",
    "gpu.",         "kernel",           "nvpmodel",       "record.",     "sampler.",  "board",
    "scope_every",  "scope_max_frames", "scopes_stopped", "site_filter", "source.",   "started"};

bool is_harmless(std::string_view key) {
  return key != "record.command" && std::any_of(harmless.begin(), harmless.end(), [key](std::string_view known) {
           return known.back() == '.' ? key.starts_with(known) : key == known;
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
  std::erase_if(declarations.infos, [](const auto& info) { return !is_harmless(info.key); });
  for (ModuleDeclaration& module : declarations.modules) {
    cut_directories(module.path);
  }
  for (SiteDeclaration& site : declarations.sites) {
    cut_directories(site.file);
  }
  for (FunctionDeclaration& function : declarations.functions) {
    cut_directories(function.file);
  }
  // Names of threads are mostly those of programs.
  for (ThreadDeclaration& thread : declarations.threads) {
    thread.name.clear();
  }
  for (MetricDeclaration& metric : declarations.metrics) {
    const bool is_of_thread = !metric.source.empty() && base::has_label(metric, "thread");
    cut_where_absolute(metric.source);
    for (auto& [key, value] : metric.labels) {
      cut_where_absolute(value);
      if (is_of_thread && key == "name") {
        value.clear();
      }
    }
  }
}

void EventRedaction::learn(const Declarations& declarations) {
  for (const NameDeclaration& name : declarations.names) {
    process_ = name.text == "process" ? name.id : process_;
    command_ = name.text == "command" ? name.id : command_;
  }
}

void EventRedaction::redact(EventBatch& batch) const {
  if (!process_ || !command_) {
    return;
  }
  for (const SpanEvent& span : batch.spans) {
    const std::size_t end =
        std::min(batch.span_arguments.size(), std::size_t{span.first_argument} + std::size_t{span.argument_count});
    for (std::size_t i = span.first_argument; span.category == process_ && i < end; ++i) {
      ArgumentValue& argument = batch.span_arguments[i];
      if (argument.name == command_ && argument.type == ArgumentType::string && argument.bits <= batch.text.size()) {
        const auto at = static_cast<std::size_t>(argument.bits);
        const std::size_t size = std::min<std::size_t>(argument.text_size, batch.text.size() - at);
        batch.text.replace(at, size, size, ' ');
        argument.text_size = 0;
      }
    }
  }
}

}  // namespace kymo::capture
