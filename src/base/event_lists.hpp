// The lists of a batch or of declarations, one after the other, for code that treats all kinds of them alike.
#pragma once

#include <kymo/events.hpp>

namespace kymo::base {

/// Calls visit(list...) for each list whose rows stand alone: all but runs, samples and states, whose rows hold lists.
/// With several batches, `visit` receives the same list of each.
template <typename Visit, typename... Batches>
void for_each_plain_list(const Visit& visit, Batches&... batches) {
  visit(batches.spans...);
  visit(batches.span_arguments...);
  visit(batches.async_begins...);
  visit(batches.frame_marks...);
  visit(batches.wakes...);
  visit(batches.stack_samples...);
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
  visit(batches.states...);
  for_each_plain_list(visit, batches...);
}

/// The same for the lists of declarations. All but those of infos have rows with a member `id`.
template <typename Visit, typename... Sets>
void for_each_declaration_list(const Visit& visit, Sets&... sets) {
  visit(sets.processes...);
  visit(sets.infos...);
  visit(sets.names...);
  visit(sets.modules...);
  visit(sets.sites...);
  visit(sets.tracks...);
  visit(sets.metrics...);
  visit(sets.frame_streams...);
  visit(sets.threads...);
  visit(sets.functions...);
  visit(sets.stacks...);
}

}  // namespace kymo::base
