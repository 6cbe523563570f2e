// kymograph._analysis.Reader, Snapshot and Query: captures, their declarations, and their tables as NumPy arrays and
// Arrow streams.
#include "capture.hpp"

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <kymo/arrow.hpp>
#include <kymo/overview.hpp>

#include "arrays.hpp"
#include "columns.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {

Reader::Reader(std::vector<std::string> paths, TimelineOptions options)
    : paths_(std::move(paths)), options_(options), timeline_(std::make_shared<Timeline>(paths_, options_)) {}

Snapshot Reader::snapshot() const {
  const std::lock_guard lock(mutex_);
  return timeline_;
}

bool Reader::refresh() {
  const std::lock_guard lock(mutex_);
  if (timeline_.use_count() == 1) {
    // Others can get it only from snapshot(). Reads by threads that released it happened before.
    std::atomic_thread_fence(std::memory_order_acquire);
    return timeline_->refresh();
  }
  auto fresh = std::make_shared<Timeline>(paths_, options_);
  bool is_more = fresh->capture_count() != timeline_->capture_count();
  for (std::size_t i = 0; !is_more && i < fresh->capture_count(); ++i) {
    is_more = fresh->capture(i).path() != timeline_->capture(i).path() ||
              fresh->capture(i).blocks().size() != timeline_->capture(i).blocks().size() ||
              fresh->capture(i).is_closed() != timeline_->capture(i).is_closed();
  }
  if (is_more) {
    timeline_ = std::move(fresh);
  }
  return is_more;
}

namespace {

nb::list captures_of(const SnapshotHandle& snapshot) {
  nb::list list;
  for (std::size_t i = 0; i < snapshot.timeline->capture_count(); ++i) {
    const CaptureReader& capture = snapshot.timeline->capture(i);
    nb::list damages;
    for (const Damage& damage : capture.damages()) {
      nb::dict row;
      row["offset"] = damage.offset;
      row["size"] = damage.size;
      row["what"] = make_text(damage.what);
      damages.append(row);
    }
    nb::dict facts;
    for (const auto& [key, value] : capture.end().facts) {
      facts[make_text(key)] = value;
    }
    nb::dict row;
    row["path"] = make_path(capture.path());
    row["bytes"] = capture.size_bytes();
    row["is_closed"] = capture.is_closed();
    row["recorder"] = make_text(capture.header().recorder);
    row["clock_source"] = make_text(capture.header().clock_source);
    row["clock_step_ns"] = capture.header().clock_step_ns;
    row["owner_pid"] = capture.header().owner_pid;
    row["damages"] = damages;
    row["closing_facts"] = facts;
    list.append(row);
  }
  return list;
}

nb::list processes_of(const SnapshotHandle& snapshot) {
  nb::list list;
  for (const TimelineProcess& process : snapshot.timeline->processes()) {
    const ProcessDeclaration& declared = process.declaration;
    nb::dict row;
    row["id"] = declared.id;
    row["pid"] = declared.pid;
    row["host"] = make_text(declared.host);
    row["boot_id"] = make_text(declared.boot_id);
    row["rank"] = make_text(declared.rank);
    row["command_line"] = make_text(declared.command_line);
    row["capture"] = process.capture;
    row["alignment"] = name_of(process.alignment);
    row["offset_ns"] = process.offset_ns;
    row["bound_ns"] = process.bound_ns;
    row["infos"] = make_dict(process.infos);
    list.append(row);
  }
  return list;
}

nb::list metrics_of(const SnapshotHandle& snapshot) {
  nb::list list;
  for (const MetricDeclaration& metric : snapshot.timeline->declarations().metrics) {
    nb::dict row;
    row["id"] = metric.id;
    row["process"] = metric.process;
    row["name"] = make_text(metric.name);
    row["unit"] = make_text(metric.unit);
    row["kind"] = name_of(metric.kind);
    row["labels"] = make_dict(metric.labels);
    row["source"] = make_text(metric.source);
    row["step"] = metric.step;
    row["renewal_ns"] = metric.renewal_ns;
    row["window_ns"] = metric.window_ns;
    row["estimated"] = (metric.traits & MetricDeclaration::estimated) != 0;
    row["total"] = (metric.traits & MetricDeclaration::total) != 0;
    row["renewal_measured"] = (metric.traits & MetricDeclaration::renewal_measured) != 0;
    list.append(row);
  }
  return list;
}

nb::list totals_of(const SnapshotHandle& snapshot) {
  std::vector<TrackTotals> totals;
  {
    const nb::gil_scoped_release release;
    totals = snapshot.timeline->totals();
  }
  nb::list list;
  for (const TrackTotals& track : totals) {
    const TrackDeclaration& declared = snapshot.timeline->track(track.track);
    nb::dict row;
    row["track"] = make_text(declared.name);
    row["process"] = declared.process ? declared.process.value() - 1U : 0U;
    row["recorded_scopes"] = track.recorded_scopes;
    row["dropped_scopes"] = track.dropped_scopes;
    row["dropped_others"] = track.dropped_others;
    list.append(row);
  }
  return list;
}

/// A capture's blocks of events: start, end, scope events, bytes in the file.
nb::tuple blocks_of(const SnapshotHandle& snapshot, std::size_t index) {
  if (index >= snapshot.timeline->capture_count()) {
    throw nb::index_error("there is no such capture");
  }
  const TimelineProcess* process = nullptr;
  for (const TimelineProcess& candidate : snapshot.timeline->processes()) {
    process = candidate.capture == index ? &candidate : process;
  }
  const std::int64_t offset_ns = process != nullptr ? process->offset_ns : 0;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::uint32_t> scopes;
  std::vector<std::uint32_t> bytes;
  for (const BlockInfo& block : snapshot.timeline->capture(index).blocks()) {
    if (block.kind == BlockKind::events) {
      starts.push_back(block.start_ns + offset_ns);
      ends.push_back(block.end_ns + offset_ns);
      scopes.push_back(block.scope_events);
      bytes.push_back(block.stored_bytes);
    }
  }
  return nb::make_tuple(make_array(std::move(starts)), make_array(std::move(ends)), make_array(std::move(scopes)),
                        make_array(std::move(bytes)));
}

nb::tuple series_of(const SnapshotHandle& snapshot, MetricId metric, std::int64_t start_ns, std::int64_t end_ns) {
  MetricSeries series;
  {
    const nb::gil_scoped_release release;
    series = snapshot.timeline->series(metric, {start_ns, end_ns});
  }
  return nb::make_tuple(make_array(std::move(series.times_ns)), make_array(std::move(series.values)),
                        make_array(std::move(series.flags)));
}

nb::dict columns_of(const SnapshotHandle& snapshot, ArrowQuery query, std::optional<std::size_t> enough_rows) {
  query.keeps_nan = true;
  std::unique_ptr<Columns> columns;
  {
    const nb::gil_scoped_release release;
    columns = std::make_unique<Columns>(snapshot.timeline, query,
                                        enough_rows.value_or(std::numeric_limits<std::size_t>::max()));
  }
  return columns->take();
}

std::size_t count_rows(const SnapshotHandle& snapshot, const ArrowQuery& query) {
  const nb::gil_scoped_release release;
  return Columns(snapshot.timeline, query).row_count();
}

/// A capsule that owns an Arrow structure, according to the PyCapsule interface.
template <typename Thing>
nb::object make_capsule(std::unique_ptr<Thing> thing, const char* name) {
  const auto destroy = [](PyObject* capsule) {
    auto* const held = static_cast<Thing*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    if (held->release != nullptr) {
      held->release(held);
    }
    delete held;
  };
  PyObject* const capsule = PyCapsule_New(thing.get(), name, destroy);
  if (capsule == nullptr) {
    thing->release(thing.get());
    throw nb::python_error();
  }
  static_cast<void>(thing.release());
  return nb::steal(capsule);
}

nb::object stream_of(const SnapshotHandle& snapshot, const ArrowQuery& query) {
  auto stream = std::make_unique<ArrowArrayStream>();
  {
    const nb::gil_scoped_release release;
    open_arrow_stream(snapshot.timeline, query, stream.get());
  }
  return make_capsule(std::move(stream), "arrow_array_stream");
}

nb::object schema_of(const SnapshotHandle& snapshot, const ArrowQuery& query) {
  ArrowArrayStream stream{};
  open_arrow_stream(snapshot.timeline, query, &stream);
  auto schema = std::make_unique<ArrowSchema>();
  const int result = stream.get_schema(&stream, schema.get());
  stream.release(&stream);
  if (result != 0) {
    throw std::bad_alloc();
  }
  return make_capsule(std::move(schema), "arrow_schema");
}

nb::str overview_of(const SnapshotHandle& snapshot, std::int64_t start_ns, std::int64_t end_ns, unsigned width) {
  std::string svg;
  {
    const nb::gil_scoped_release release;
    OverviewOptions options;
    options.range = {start_ns, end_ns};
    options.width = width;
    svg = overview_svg(*snapshot.timeline, options);
  }
  return make_text(svg);
}

ArrowTable table_of(const std::string& name) {
  static constexpr const char* names[] = {"spans",   "frames", "samples",  "sites",     "tracks",
                                          "metrics", "phases", "messages", "processes", "stacks"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) {
      return static_cast<ArrowTable>(i);
    }
  }
  throw nb::value_error(("there is no table " + name).c_str());
}

}  // namespace

void add_capture(nb::module_& module) {
  nb::class_<ArrowQuery>(module, "Query", "What of a table to read.")
      .def(
          "__init__",
          [](ArrowQuery* self, const std::string& table, std::vector<std::string> columns, std::int64_t start_ns,
             std::int64_t end_ns, std::vector<std::string> names, std::vector<std::string> tracks,
             std::vector<ProcessId> processes,
             const std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>& blocks) {
            new (self) ArrowQuery();
            self->table = table_of(table);
            self->columns = std::move(columns);
            self->range = {start_ns, end_ns};
            self->names = std::move(names);
            self->tracks = std::move(tracks);
            self->processes = std::move(processes);
            for (const auto& [capture, first, end] : blocks) {
              self->blocks.push_back({capture, first, end});
            }
          },
          nb::arg("table"), nb::kw_only(), nb::arg("columns"), nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("names"),
          nb::arg("tracks"), nb::arg("processes"), nb::arg("blocks"));

  nb::class_<SnapshotHandle> snapshot(module, "Snapshot", "Captures as they were at one moment. Thread safe.");
  snapshot
      .def_prop_ro("range",
                   [](const SnapshotHandle& self) {
                     const TimeRange range = self.timeline->range();
                     return std::pair(range.start_ns, range.end_ns);
                   })
      .def_prop_ro("complaints", [](const SnapshotHandle& self) { return make_texts(self.timeline->complaints()); })
      .def("captures", captures_of)
      .def("processes", processes_of)
      .def("metrics", metrics_of)
      .def("totals", totals_of)
      .def("blocks", blocks_of, nb::arg("capture"))
      .def("series", series_of, nb::arg("metric"), nb::arg("start_ns"), nb::arg("end_ns"))
      .def("columns", columns_of, nb::arg("query"), nb::arg("enough_rows") = nb::none())
      .def("count", count_rows, nb::arg("query"))
      .def("stream", stream_of, nb::arg("query"))
      .def("schema", schema_of, nb::arg("query"));
  snapshot.def("overview", overview_of, nb::kw_only(), nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("width"));
  add_statistics(snapshot);
  add_functions(snapshot);
  add_thread_activity(snapshot);
  add_explanations(snapshot);

  nb::class_<Reader>(module, "Reader", "Captures that may grow. Thread safe.")
      .def(
          "__init__",
          [](Reader* self, const std::vector<nb::bytes>& encoded, bool align_by_sync_points) {
            std::vector<std::string> paths = take_paths(encoded);
            const nb::gil_scoped_release release;
            TimelineOptions options;
            options.align_by_sync_points = align_by_sync_points;
            new (self) Reader(std::move(paths), options);
          },
          nb::arg("paths"), nb::kw_only(), nb::arg("align_by_sync_points") = false)
      .def("snapshot", [](const Reader& self) { return SnapshotHandle{self.snapshot()}; })
      .def("refresh", &Reader::refresh, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kymo::python
