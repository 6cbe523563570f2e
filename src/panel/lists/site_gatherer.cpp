// Adds up the scopes of a range or inside a site.
#include "panel/lists/site_gatherer.hpp"

namespace kymo::panel {

void SiteGatherer::add(const ScopeRun& run, capture::ScopeStack& stack) {
  const SiteId around{key_.id};
  capture::match(run, stack, [&](const capture::ScopeSpan& scope) {
    // The scopes around it are still open.
    bool is_inside = !around || scope.site == around;
    for (std::size_t depth = 0; depth < scope.depth && !is_inside; ++depth) {
      is_inside = stack[depth].site == around;
    }
    if (is_inside) {
      sites_.add(scope);
    }
  });
}

void SiteGatherer::take(std::size_t /*capture*/, const EventBatch* batch) {
  if (batch != nullptr) {  // else the stacks see the gap in the sequence numbers
    runs_.take(*batch, [this](const ScopeRun& run, capture::ScopeStack& stack) { add(run, stack); });
  }
}

void SiteGatherer::finish() {
  runs_.finish([this](const ScopeRun& run, capture::ScopeStack& stack) { add(run, stack); });
}

}  // namespace kymo::panel
