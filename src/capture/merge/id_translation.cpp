#include "capture/merge/id_translation.hpp"

#include <utility>

namespace kymo::capture {

NameId Numbering::name(const std::string& text) {
  const auto [place, is_new] = names_.try_emplace(text, 0);
  if (is_new) {
    place->second = next(IdKind::name);
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

std::uint32_t IdTranslation::take(IdKind kind, std::uint32_t own, std::size_t declared, Numbering& numbering) {
  std::uint32_t shared = find(kind, own);
  if (shared == 0) {
    shared = numbering.next(kind);
    maps_[static_cast<std::size_t>(kind)].set(own, shared, declared);
    is_identity_ = is_identity_ && own == shared;
  }
  return shared;
}

// A process whose declaration is lost still owns its tracks and sites.
ProcessId IdTranslation::owner(ProcessId own, Declarations& shared, Numbering& numbering) {
  ProcessId id = find(IdKind::process, own);
  if (id == 0) {
    id = take(IdKind::process, own, shared.processes.size(), numbering);
    shared.processes.emplace_back();
    shared.processes.back().id = id;
  }
  return id;
}

Declarations IdTranslation::declare(const Declarations& own, Numbering& numbering) {
  Declarations shared;
  for (ProcessDeclaration process : own.processes) {
    process.id = take(IdKind::process, process.id, own.processes.size(), numbering);
    shared.processes.push_back(std::move(process));
  }
  for (InfoDeclaration info : own.infos) {
    info.process = owner(info.process, shared, numbering);
    shared.infos.push_back(std::move(info));
  }
  for (NameDeclaration name : own.names) {
    const NameId id = numbering.name(name.text);
    maps_[static_cast<std::size_t>(IdKind::name)].set(name.id, id, own.names.size());
    is_identity_ = is_identity_ && name.id == id;
    name.id = id;
    shared.names.push_back(std::move(name));
  }
  for (ModuleDeclaration module : own.modules) {
    module.id = take(IdKind::module, module.id, own.modules.size(), numbering);
    module.process = owner(module.process, shared, numbering);
    shared.modules.push_back(std::move(module));
  }
  for (SiteDeclaration site : own.sites) {
    site.id = take(IdKind::site, site.id, own.sites.size(), numbering);
    site.process = owner(site.process, shared, numbering);
    site.module = find(IdKind::module, site.module);
    shared.sites.push_back(std::move(site));
  }
  for (TrackDeclaration track : own.tracks) {
    track.id = take(IdKind::track, track.id, own.tracks.size(), numbering);
    track.process = owner(track.process, shared, numbering);
    shared.tracks.push_back(std::move(track));
  }
  for (MetricDeclaration metric : own.metrics) {
    metric.id = take(IdKind::metric, metric.id, own.metrics.size(), numbering);
    metric.process = owner(metric.process, shared, numbering);
    shared.metrics.push_back(std::move(metric));
  }
  for (FrameStreamDeclaration stream : own.frame_streams) {
    stream.id = take(IdKind::frame_stream, stream.id, own.frame_streams.size(), numbering);
    stream.process = owner(stream.process, shared, numbering);
    shared.frame_streams.push_back(std::move(stream));
  }
  return shared;
}

void IdTranslation::translate(EventBatch& batch, const OnUndeclared& on_undeclared) const {
  const auto to_shared = [&](IdKind kind, std::uint32_t& id) {
    if (id != 0) {
      const std::uint32_t shared = find(kind, id);
      id = shared != 0 ? shared : on_undeclared(kind, id);
    }
  };
  for (ScopeRun& run : batch.runs) {
    to_shared(IdKind::track, run.track);
    for (OpenScope& open : run.open_at_start) {
      to_shared(IdKind::site, open.site);
    }
    for (ScopeEvent& event : run.events) {
      to_shared(IdKind::site, event.site);
    }
    for (ScopeArgument& argument : run.arguments) {
      to_shared(IdKind::name, argument.value.name);
    }
  }
  for (SpanEvent& span : batch.spans) {
    to_shared(IdKind::track, span.track);
    to_shared(IdKind::name, span.name);
    to_shared(IdKind::name, span.category);
  }
  for (ArgumentValue& argument : batch.span_arguments) {
    to_shared(IdKind::name, argument.name);
  }
  for (AsyncBegin& begin : batch.async_begins) {
    to_shared(IdKind::track, begin.track);
    to_shared(IdKind::name, begin.name);
  }
  for (FrameMark& mark : batch.frame_marks) {
    to_shared(IdKind::frame_stream, mark.stream);
    to_shared(IdKind::track, mark.track);
  }
  for (SampleRun& run : batch.samples) {
    to_shared(IdKind::metric, run.metric);
  }
  for (Message& message : batch.messages) {
    to_shared(IdKind::track, message.track);
  }
  for (FlowEvent& flow : batch.flows) {
    to_shared(IdKind::track, flow.track);
  }
  for (SyncPoint& point : batch.sync_points) {
    to_shared(IdKind::track, point.track);
  }
  for (TrackEnd& end : batch.track_ends) {
    to_shared(IdKind::track, end.track);
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
  for (SpanEvent& span : batch.spans) {
    shift(span.start_ns);
  }
  const auto shift_each = [&shift](auto& events) {
    for (auto& event : events) {
      shift(event.time_ns);
    }
  };
  shift_each(batch.async_begins);
  shift_each(batch.frame_marks);
  shift_each(batch.messages);
  shift_each(batch.flows);
  shift_each(batch.sync_points);
  shift_each(batch.track_ends);
  for (ClockAnchor& anchor : batch.clock_anchors) {
    shift(anchor.monotonic_ns);
  }
  for (ClockUncertainty& uncertainty : batch.clock_uncertainties) {
    shift(uncertainty.start_ns);
    shift(uncertainty.end_ns);
  }
}

}  // namespace kymo::capture
