// Names that exports of all formats use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/declarations.hpp>
#include <kymo/events.hpp>

#include "base/text/json_text.hpp"
#include "base/text/text.hpp"

namespace kymo::exchange {

/// Linux assigns no process or thread ID above this.
inline constexpr std::uint64_t greatest_system_number = std::uint64_t{1} << 22U;

/// The text as UTF-8: U+FFFD for what is not.
inline std::string valid_text(std::string_view text) {
  std::string valid;
  base::append_valid_text(valid, text);
  return valid;
}

/// The text, or its beginning and an ellipsis if it has more bytes.
inline std::string cut_with_mark(std::string_view text, std::size_t limit) {
  const std::string_view kept = base::cut_text(text, limit);
  return std::string(kept).append(kept.size() < text.size() ? base::cut_mark : "");
}

/// "site 12 (not declared)": replaces a name that was lost.
template <typename AnyId>
std::string lost_name(std::string_view what, AnyId id) {
  return std::string(what) + ' ' + std::to_string(id.value()) + " (not declared)";
}

/// Declarations that replace lost ones.
inline SiteDeclaration lost_site(SiteId id) {
  SiteDeclaration site;
  site.id = id;
  site.name = lost_name("site", id);
  return site;
}
inline TrackDeclaration lost_track(TrackId id) {
  return {id, TrackKind::thread, ProcessId{1}, 0, lost_name("track", id)};
}
inline MetricDeclaration lost_metric(MetricId id) {
  MetricDeclaration metric;
  metric.id = id;
  metric.name = lost_name("metric", id);
  return metric;
}
inline FrameStreamDeclaration lost_frames(FrameStreamId id) {
  return {id, ProcessId{1}, lost_name("frames", id)};
}

/// The name of a site's scopes; empty if it has none.
inline std::string site_name(const SiteDeclaration& site) {
  if (!site.name.empty()) {
    return site.name;
  }
  if (!site.function.empty()) {
    return site.function;
  }
  return site.kind == SiteKind::hooked ? "function at " + std::to_string(site.module_offset) : std::string();
}

/// "power {rail=GPU}": labels distinguish series with the same name.
inline std::string metric_name(const MetricDeclaration& metric) {
  std::string name = metric.name;
  const char* separator = " {";
  for (const auto& [key, value] : metric.labels) {
    name.append(separator).append(key).append("=").append(value);
    separator = ", ";
  }
  return metric.labels.empty() ? name : name + '}';
}

}  // namespace kymo::exchange
