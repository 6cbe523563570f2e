#include "capture/merge/id_translation.hpp"

#include <type_traits>
#include <utility>

#include "base/event_lists.hpp"

namespace kymo::capture {

NameId Numbering::name(const std::string& text) {
  const auto [place, is_new] = names_.try_emplace(text, 0);
  if (is_new) {
    place->second = next<NameId>();
  }
  return place->second;
}

void IdTranslation::IdMap::set(std::uint32_t own, std::uint32_t shared, std::size_t declared) {
  const std::size_t dense_limit = 64 + 4 * declared;
  if (own < dense_.size()) {
    dense_[own] = shared;
  } else if (own < dense_limit) {
    dense_.resize(own + std::size_t{1});
    dense_[own] = shared;
    // Ids below the new size are looked up here from this point on.
    for (auto entry = sparse_.begin(); entry != sparse_.end();) {
      if (entry->first < dense_.size()) {
        dense_[entry->first] = entry->second;
        entry = sparse_.erase(entry);
      } else {
        ++entry;
      }
    }
  } else {
    sparse_[own] = shared;
  }
}

template <IdKind kind>
Id<kind> IdTranslation::take(Id<kind> own, std::size_t declared, Numbering& numbering) {
  Id<kind> shared = find(own);
  if (!shared) {
    shared = numbering.next<Id<kind>>();
    maps_[static_cast<std::size_t>(kind)].set(own.value(), shared.value(), declared);
    is_identity_ = is_identity_ && own == shared;
  }
  return shared;
}

NameId IdTranslation::take_name(const NameDeclaration& own, std::size_t declared, Numbering& numbering) {
  const NameId shared = numbering.name(own.text);
  maps_[static_cast<std::size_t>(IdKind::name)].set(own.id.value(), shared.value(), declared);
  is_identity_ = is_identity_ && own.id == shared;
  return shared;
}

// A process whose declaration is lost still owns its tracks and sites.
ProcessId IdTranslation::owner(ProcessId own, Declarations& shared, Numbering& numbering) {
  ProcessId id = find(own);
  if (!id) {
    id = take(own, shared.processes.size(), numbering);
    shared.processes.emplace_back();
    shared.processes.back().id = id;
  }
  return id;
}

Declarations IdTranslation::declare(const Declarations& own, Numbering& numbering) {
  Declarations shared;
  const auto declare_all = [&]<typename Row>(const std::vector<Row>& rows, std::vector<Row>& to) {
    for (Row row : rows) {
      if constexpr (std::is_same_v<Row, NameDeclaration>) {
        row.id = take_name(row, rows.size(), numbering);
      } else if constexpr (!std::is_same_v<Row, InfoDeclaration>) {
        row.id = take(row.id, rows.size(), numbering);
      }
      if constexpr (requires { row.process; }) {
        row.process = owner(row.process, shared, numbering);
      }
      if constexpr (requires { row.module; }) {
        row.module = find(row.module);
      }
      if constexpr (std::is_same_v<Row, StackDeclaration>) {
        row.caller = find(row.caller);
        row.function = find(row.function);
      }
      to.push_back(std::move(row));
    }
  };
  base::for_each_declaration_list(declare_all, own, shared);
  return shared;
}

void IdTranslation::translate(EventBatch& batch, const OnUndeclared& on_undeclared) const {
  const auto to_shared = [&]<IdKind kind>(Id<kind>& id) {
    if (id) {
      const Id<kind> shared = find(id);
      id = shared ? shared : Id<kind>{on_undeclared(kind, id.value())};
    }
  };
  for (ScopeRun& run : batch.runs) {
    to_shared(run.track);
    for (OpenScope& open : run.open_at_start) {
      to_shared(open.site);
    }
    for (ScopeEvent& event : run.events) {
      to_shared(event.site);
    }
    for (ScopeArgument& argument : run.arguments) {
      to_shared(argument.value.name);
    }
  }
  for (SpanEvent& span : batch.spans) {
    to_shared(span.track);
    to_shared(span.name);
    to_shared(span.category);
  }
  for (ArgumentValue& argument : batch.span_arguments) {
    to_shared(argument.name);
  }
  for (AsyncBegin& begin : batch.async_begins) {
    to_shared(begin.track);
    to_shared(begin.name);
  }
  for (FrameMark& mark : batch.frame_marks) {
    to_shared(mark.stream);
    to_shared(mark.track);
  }
  for (SampleRun& run : batch.samples) {
    to_shared(run.metric);
  }
  for (StateRun& run : batch.states) {
    to_shared(run.thread);
  }
  for (ThreadWake& wake : batch.wakes) {
    to_shared(wake.thread);
    to_shared(wake.waker);
  }
  for (StackSample& sample : batch.stack_samples) {
    to_shared(sample.thread);
    to_shared(sample.stack);
  }
  for (Message& message : batch.messages) {
    to_shared(message.track);
  }
  for (FlowEvent& flow : batch.flows) {
    to_shared(flow.track);
  }
  for (SyncPoint& point : batch.sync_points) {
    to_shared(point.track);
  }
  for (TrackEnd& end : batch.track_ends) {
    to_shared(end.track);
  }
}

void shift_times(EventBatch& batch, std::int64_t offset_ns) {
  if (offset_ns == 0) {
    return;
  }
  const auto shift = [offset_ns](std::int64_t& time_ns) { time_ns = add_times(time_ns, offset_ns); };
  shift(batch.start_ns);
  shift(batch.end_ns);
  for (ScopeRun& run : batch.runs) {
    for (OpenScope& open : run.open_at_start) {
      shift(open.start_ns);
    }
    for (ScopeEvent& event : run.events) {
      shift(event.time_ns);
    }
  }
  for (SampleRun& run : batch.samples) {
    for (std::int64_t& time_ns : run.times_ns) {
      shift(time_ns);
    }
  }
  for (StateRun& run : batch.states) {
    for (ThreadState& state : run.states) {
      shift(state.start_ns);
    }
  }
  const auto shift_each = [&shift](auto& events) {
    for ([[maybe_unused]] auto& event : events) {
      if constexpr (requires { event.time_ns; }) {
        shift(event.time_ns);
      } else if constexpr (requires { event.start_ns; }) {
        shift(event.start_ns);
      }
    }
  };
  base::for_each_plain_list(shift_each, batch);
  for (ClockAnchor& anchor : batch.clock_anchors) {
    shift(anchor.monotonic_ns);
  }
  for (ClockUncertainty& uncertainty : batch.clock_uncertainties) {
    shift(uncertainty.end_ns);
  }
}

}  // namespace kymo::capture
