// The lists of a batch, one after the other, for code that treats all kinds of events alike.
#pragma once

#include <kymo/events.hpp>

namespace kymo::base {

/// Calls visit(list...) for each list whose rows stand alone: all but runs and samples, whose rows hold lists. With several
/// batches, `visit` receives the same list of each.
template <typename Visit, typename... Batches>
void for_each_plain_list(const Visit& visit, Batches&... batches) {
  visit(batches.spans...);
  visit(batches.span_arguments...);
  visit(batches.async_begins...);
  visit(batches.frame_marks...);
  visit(batches.messages...);
  visit(batches.flows...);
  visit(batches.sync_points...);
  visit(batches.track_ends...);
  visit(batches.clock_anchors...);
  visit(batches.clock_uncertainties...);
}

/// The same for all lists of events.
template <typename Visit, typename... Batches>
void for_each_list(const Visit& visit, Batches&... batches) {
  visit(batches.runs...);
  visit(batches.samples...);
  for_each_plain_list(visit, batches...);
}

}  // namespace kymo::base
