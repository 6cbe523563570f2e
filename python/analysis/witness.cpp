// kymograph._analysis for kymograph.bench: witness bundles.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <kymo/witness.hpp>

#include "attributes.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

using Tensor = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

WitnessHeader to_header(nb::handle object) {
  return {attribute<std::string>(object, "config_hash"), attribute<std::string>(object, "model_commit"),
          attribute<std::string>(object, "weights_hash")};
}

WitnessEntry to_entry(nb::handle object) {
  WitnessEntry entry;
  entry.q_hash = attribute<std::string>(object, "q_hash");
  entry.k_hash = attribute<std::string>(object, "k_hash");
  for (const nb::handle keep : object.attr("keep_mask")) {
    const int is_kept = PyObject_IsTrue(keep.ptr());
    if (is_kept < 0) {
      throw nb::python_error();
    }
    entry.keep_mask.push_back(is_kept != 0);
  }
  entry.cut_cost = attribute<double>(object, "cut_cost");
  entry.lambda = static_cast<float>(attribute<double>(object, "lambda_"));
  entry.tau = attribute<std::uint32_t>(object, "tau");
  entry.eps = static_cast<float>(attribute<double>(object, "eps"));
  entry.timestamp = attribute<std::int64_t>(object, "timestamp");
  entry.mask_hash = attribute<std::string>(object, "mask_hash");
  return entry;
}

nb::tuple fields_of(const WitnessHeader& header) {
  return nb::make_tuple(header.config_hash, header.model_commit, header.weights_hash);
}

nb::tuple fields_of(const WitnessEntry& entry) {
  nb::list mask;
  for (const bool is_kept : entry.keep_mask) {
    mask.append(nb::bool_(is_kept));
  }
  return nb::make_tuple(entry.q_hash, entry.k_hash, mask, entry.cut_cost, entry.lambda, entry.tau, entry.eps,
                        entry.timestamp, entry.mask_hash);
}

nb::tuple fields_of(const WitnessTotals& totals) {
  return nb::make_tuple(totals.entries, totals.gates, totals.kept, totals.mean_cut_cost);
}

/// Without a function the GIL is released during the call.
WitnessReport verify(const std::string& path, const nb::object& on_entry) {
  if (on_entry.is_none()) {
    const nb::gil_scoped_release released;
    return verify_witness(path);
  }
  return verify_witness(path, [&on_entry](const WitnessEntry& entry) { on_entry(fields_of(entry)); });
}

}  // namespace

void add_witness(nb::module_& module) {
  nb::class_<WitnessWriter>(module, "WitnessWriterCore")
      .def("__init__", [](WitnessWriter* self, const std::string& path,
                          nb::handle header) { new (self) WitnessWriter(path, to_header(header)); })
      .def("add", [](WitnessWriter& writer, nb::handle entry) { writer.add(to_entry(entry)); })
      .def("finish", &WitnessWriter::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("totals", [](const WitnessWriter& writer) { return fields_of(writer.totals()); });
  const auto verify_path = [](const std::string& path, const nb::object& on_entry) {
    const WitnessReport report = verify(path, on_entry);
    return nb::make_tuple(report.is_whole, report.line, report.problem, report.head, fields_of(report.header),
                          fields_of(report.totals));
  };
  module.def("verify_witness", verify_path, nb::arg("path"), nb::arg("on_entry").none());
  module.def("compare_witnesses", [](const std::string& left, const std::string& right) {
    WitnessDifference difference;
    {
      const nb::gil_scoped_release released;
      difference = compare_witnesses(left, right);
    }
    return nb::make_tuple(difference.is_same_header, difference.entry);
  });
  module.def("is_same_decision",
             [](nb::handle left, nb::handle right) { return is_same_decision(to_entry(left), to_entry(right)); });
  module.def("tensor_hash", [](const Tensor& values) {
    const nb::gil_scoped_release released;
    return tensor_hash(values.data(), values.size());
  });
  module.def("mask_hash", [](const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& mask) {
    const nb::gil_scoped_release released;
    return mask_hash(mask.data(), mask.size());
  });
}

}  // namespace kymo::python
