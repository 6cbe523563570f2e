// Names that exports of all formats use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/declarations.hpp>
#include <kymo/events.hpp>

namespace kymo::exchange {

/// Linux assigns no process or thread ID above this.
inline constexpr std::uint64_t greatest_system_number = std::uint64_t{1} << 22U;

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
