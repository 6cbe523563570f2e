// The generator's scopes as a recording program: 40 random sites, up to six deep, back to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/scope.hpp>

#include "generator.hpp"

namespace kymo::benchmarks {

/// Records `count` scopes of the generator's shape; they last as long as recording them takes.
inline void record_generated_shape(std::size_t count) {
  static kymo_site sites[ScopeGenerator::site_count];
  static const std::vector<std::uint8_t> steps = [] {
    for (kymo_site& site : sites) {
      site = {0, 0, "stage", "void stage()", __FILE__, static_cast<std::uint32_t>(&site - sites + 1), KYMO_SITE_SCOPE};
    }
    // One thread's opens (site) and closes (0).
    EventBatch batch;
    ScopeGenerator(1).next(batch, 4 * 65536);
    std::vector<std::uint8_t> drawn;
    for (const ScopeEvent& event : batch.runs.front().events) {
      drawn.push_back(static_cast<std::uint8_t>(event.site.value()));
    }
    return drawn;
  }();
  std::size_t step = 0;
  detail::ScopeToken open[ScopeGenerator::max_depth];
  std::size_t depth = 0;
  for (std::size_t opened = 0; opened < count || depth > 0; ++step) {
    const unsigned site = opened < count ? steps[step % steps.size()] : 0;
    if (site != 0 && depth < ScopeGenerator::max_depth) {
      open[depth++] = detail::open_scope(sites[site - 1]);
      ++opened;
    } else if (depth > 0) {
      detail::close_scope(open[--depth]);
    }
  }
}

}  // namespace kymo::benchmarks
