// kymograph._analysis for kymograph.bench: records and their CSV, fingerprints, latency statistics, memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <kymo/bench.hpp>
#include <kymo/latency_stats.hpp>
#include <kymo/memory_tracker.hpp>

#include "attributes.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

using Samples = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Record>
Record from_object(nb::handle object);

template <>
LatencyRecord from_object(nb::handle object) {
  return {attribute<std::uint64_t>(object, "sample_id"), attribute<double>(object, "wall_time_us"),
          attribute<double>(object, "kernel_time_us"), attribute<std::uint64_t>(object, "seq_len")};
}

template <>
MemorySnapshot from_object(nb::handle object) {
  return {attribute<std::int64_t>(object, "timestamp_us"),
          attribute<std::uint64_t>(object, "peak_rss_bytes"),
          {attribute<std::uint64_t>(object, "kv_cache_bytes"), attribute<std::uint64_t>(object, "activation_bytes"),
           attribute<std::uint64_t>(object, "temp_buffer_bytes")},
          attribute<std::int64_t>(object, "monotonic_ns"),
          attribute<std::uint64_t>(object, "process_peak_bytes")};
}

template <>
PowerSample from_object(nb::handle object) {
  return {attribute<double>(object, "time_s"), attribute<double>(object, "watts")};
}

template <>
BaselineRecord from_object(nb::handle object) {
  return {attribute<std::uint64_t>(object, "sample_id"), attribute<std::uint64_t>(object, "seq_len"),
          attribute<double>(object, "wall_time_us"), attribute<std::uint64_t>(object, "peak_mem_bytes"),
          attribute<double>(object, "energy_j")};
}

template <>
ResultRow from_object(nb::handle object) {
  return {attribute<std::string>(object, "setting"),
          attribute<double>(object, "coherence_delta"),
          attribute<double>(object, "kv_cache_reduction"),
          attribute<double>(object, "peak_mem_reduction"),
          attribute<double>(object, "energy_reduction"),
          attribute<double>(object, "p95_latency_us"),
          attribute<double>(object, "accuracy")};
}

template <>
EnergyReport from_object(nb::handle object) {
  return {attribute<double>(object, "energy_j"),       attribute<double>(object, "mean_watts"),
          attribute<double>(object, "peak_watts"),     attribute<double>(object, "duration_s"),
          attribute<std::uint64_t>(object, "samples"), attribute<double>(object, "unknown_s"),
          attribute<bool>(object, "is_counted"),       attribute<std::string>(object, "label"),
          attribute<double>(object, "bound_j")};
}

template <>
MemoryReport from_object(nb::handle object) {
  return {attribute<std::string>(object, "label"),
          attribute<std::uint64_t>(object, "peak_rss"),
          attribute<double>(object, "mean_rss"),
          attribute<std::uint64_t>(object, "kv_cache_total"),
          attribute<std::uint64_t>(object, "activation_total"),
          attribute<std::uint64_t>(object, "temp_buffer_total"),
          attribute<std::uint64_t>(object, "snapshots"),
          attribute<std::uint64_t>(object, "process_peak")};
}

template <>
BenchConfig from_object(nb::handle object) {
  BenchConfig config;
  config.model_commit = attribute<std::string>(object, "model_commit");
  config.weights_hash = attribute<std::string>(object, "weights_hash");
  config.lambda = static_cast<float>(attribute<double>(object, "lambda_"));
  config.tau = attribute<std::uint32_t>(object, "tau");
  config.eps = static_cast<float>(attribute<double>(object, "eps"));
  config.compiler_flags = attribute<std::string>(object, "compiler_flags");
  return config;
}

// The fields of the dataclasses in order.

nb::tuple fields_of(const LatencyRecord& record) {
  return nb::make_tuple(record.sample_id, record.wall_time_us, record.kernel_time_us, record.seq_len);
}

nb::tuple fields_of(const MemorySnapshot& record) {
  return nb::make_tuple(record.timestamp_us, record.peak_rss_bytes, record.parts.kv_cache_bytes,
                        record.parts.activation_bytes, record.parts.temp_buffer_bytes, record.monotonic_ns,
                        record.process_peak_bytes);
}

nb::tuple fields_of(const PowerSample& record) {
  return nb::make_tuple(record.time_s, record.watts);
}

nb::tuple fields_of(const BaselineRecord& record) {
  return nb::make_tuple(record.sample_id, record.seq_len, record.wall_time_us, record.peak_mem_bytes, record.energy_j);
}

nb::tuple fields_of(const ResultRow& record) {
  return nb::make_tuple(record.setting, record.coherence_delta, record.kv_cache_reduction, record.peak_mem_reduction,
                        record.energy_reduction, record.p95_latency_us, record.accuracy);
}

nb::tuple fields_of(const MemoryReport& report) {
  return nb::make_tuple(report.label, report.peak_rss, report.mean_rss, report.kv_cache_total, report.activation_total,
                        report.temp_buffer_total, report.snapshots, report.process_peak);
}

template <typename Record>
std::vector<Record> records_of(nb::handle objects) {
  std::vector<Record> records;
  for (const nb::handle object : objects) {
    records.push_back(from_object<Record>(object));
  }
  return records;
}

template <typename Record>
nb::list rows_of(const std::vector<Record>& records) {
  nb::list rows;
  for (const Record& record : records) {
    rows.append(fields_of(record));
  }
  return rows;
}

template <typename Record>
void add_records(nb::module_& module, const std::string& name) {
  module.def(("write_" + name).c_str(), [](const std::string& path, nb::handle objects) {
    const std::vector<Record> records = records_of<Record>(objects);
    const nb::gil_scoped_release released;
    write_csv(path, records);
  });
  module.def((name + "_to_csv").c_str(), [](nb::handle objects) { return to_csv(records_of<Record>(objects)); });
  module.def(("read_" + name).c_str(), [](const std::string& path) {
    std::vector<Record> records;
    {
      const nb::gil_scoped_release released;
      records = read_csv<Record>(path);
    }
    return rows_of(records);
  });
  module.def(("parse_" + name).c_str(),
             [](std::string_view text, const std::string& source) { return rows_of(parse_csv<Record>(text, source)); });
}

/// Adds an integer with the type that it fits into; OverflowError if there is none.
void add_integer(ParameterSet& set, std::string_view name, nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) {
    set.add(name, number);
    return;
  }
  const unsigned long long natural = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    throw nb::python_error();
  }
  set.add(name, natural);
}

void add_value(ParameterSet& set, std::string_view name, nb::handle value) {
  if (PyBool_Check(value.ptr())) {
    set.add(name, value.ptr() == Py_True);
  } else if (PyLong_Check(value.ptr())) {
    add_integer(set, name, value);
  } else if (PyFloat_Check(value.ptr())) {
    set.add(name, PyFloat_AsDouble(value.ptr()));
  } else {
    set.add(name, nb::cast<std::string_view>(value));
  }
}

void add_parameter_set(nb::module_& module) {
  nb::class_<ParameterSet>(module, "ParameterSetCore")
      .def(nb::init<>())
      .def("add", [](ParameterSet& set, std::string_view name, nb::handle value) { add_value(set, name, value); })
      .def("add_float32",
           [](ParameterSet& set, std::string_view name, double value) { set.add(name, static_cast<float>(value)); })
      .def("to_json", &ParameterSet::to_json)
      .def("fingerprint", &ParameterSet::fingerprint);
}

void add_memory(nb::module_& module) {
  nb::class_<MemoryTracker>(module, "MemoryTrackerCore")
      .def(nb::init<std::string>())
      .def("snapshot",
           [](MemoryTracker& tracker, std::uint64_t kv_cache_bytes, std::uint64_t activation_bytes,
              std::uint64_t temp_buffer_bytes) {
             return fields_of(tracker.snapshot({kv_cache_bytes, activation_bytes, temp_buffer_bytes}));
           })
      .def("snapshots", [](const MemoryTracker& tracker) { return rows_of(tracker.snapshots()); })
      .def("report", [](const MemoryTracker& tracker) { return fields_of(tracker.report()); });
}

void add_statistics(nb::module_& module) {
  module.def("latency_stats", [](const Samples& samples) {
    LatencyStats stats;
    {
      const nb::gil_scoped_release released;
      stats = LatencyStats::of(std::vector<double>(samples.data(), samples.data() + samples.size()));
    }
    return nb::make_tuple(stats.p50, stats.p95, stats.p99, stats.mean, stats.std, stats.n);
  });
  module.def("nearest_rank", [](const Samples& sorted, double percentile) {
    return nearest_rank(std::vector<double>(sorted.data(), sorted.data() + sorted.size()), percentile);
  });
}

}  // namespace

void add_bench(nb::module_& module) {
  const nb::exception<BenchFileError> type(module, "BenchFileError", PyExc_ValueError);
  type.attr("__doc__") = "A file of the benchmark kit holds something else; it says which, in what line and what.";
  add_records<LatencyRecord>(module, "latencies");
  add_records<MemorySnapshot>(module, "memory");
  add_records<BaselineRecord>(module, "baselines");
  add_records<ResultRow>(module, "results");
  add_records<PowerSample>(module, "power");
  module.def("energy_report_json", [](nb::handle report) { return to_json(from_object<EnergyReport>(report)); });
  module.def("memory_report_json", [](nb::handle report) { return to_json(from_object<MemoryReport>(report)); });
  module.def("config_json", [](nb::handle config) { return to_json(from_object<BenchConfig>(config)); });
  module.def("config_hash", [](nb::handle config) { return config_hash(from_object<BenchConfig>(config)); });
  add_parameter_set(module);
  add_memory(module);
  add_statistics(module);
  add_power(module);
  add_witness(module);
}

}  // namespace kymo::python
