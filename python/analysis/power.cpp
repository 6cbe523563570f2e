// kymograph._analysis for kymograph.bench: power sources and the energy of a stretch of time.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <kymo/power.hpp>

#include "parts.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

/// Watts by time from a Python function, which may be called by any thread. An exception in it is reported as
/// unraisable, and the power is unknown.
double call_watts(const nb::callable& function, double time_s) {
  const nb::gil_scoped_acquire acquired;
  try {
    return nb::cast<double>(function(time_s));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable(function);
  } catch (const nb::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "the power is not a number");
    PyErr_WriteUnraisable(function.ptr());
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// A tracker whose thread may need the interpreter, so no thread waits for it while holding the GIL. Owned by the
/// process that created it: a forked child has a copy without a thread.
class OwnedPowerTracker {
 public:
  OwnedPowerTracker(PowerSource& source, double hz, std::string label, std::size_t kept_samples)
      : tracker_(std::make_unique<PowerTracker>(source, PowerTrackerOptions{hz, std::move(label), kept_samples})) {}
  OwnedPowerTracker(const OwnedPowerTracker&) = delete;
  OwnedPowerTracker& operator=(const OwnedPowerTracker&) = delete;
  ~OwnedPowerTracker() {
    if (::getpid() != owner_) {
      static_cast<void>(tracker_.release());
      return;
    }
    const nb::gil_scoped_release released;
    tracker_.reset();
  }

  bool start() { return ::getpid() == owner_ && tracker_->start(); }
  EnergyReport stop() { return ::getpid() == owner_ ? tracker_->stop() : EnergyReport(); }
  [[nodiscard]] EnergyReport report() const { return ::getpid() == owner_ ? tracker_->report() : EnergyReport(); }
  [[nodiscard]] bool is_running() const { return ::getpid() == owner_ && tracker_->is_running(); }
  [[nodiscard]] std::vector<PowerSample> samples() const {
    return ::getpid() == owner_ ? tracker_->samples() : std::vector<PowerSample>();
  }
  void sample(std::int64_t now_ns) { tracker_->sample(now_ns); }

 private:
  pid_t owner_ = ::getpid();
  std::unique_ptr<PowerTracker> tracker_;
};

nb::tuple fields_of(const EnergyReport& report) {
  return nb::make_tuple(report.energy_j, report.mean_watts, report.peak_watts, report.duration_s, report.samples,
                        report.unknown_s, report.is_counted, report.label, report.bound_j);
}

void add_sources(nb::module_& module) {
  nb::class_<PowerSource>(module, "PowerSource", "Something that measures power. One thread at a time.")
      .def_prop_ro("name", &PowerSource::name, "What it measures, for people.")
      .def(
          "read",
          [](PowerSource& source, std::int64_t now_ns) {
            PowerReading reading;
            {
              const nb::gil_scoped_release released;
              reading = source.read(now_ns);
            }
            return nb::make_tuple(reading.watts, reading.joules);
          },
          nb::arg("now_ns"), "Return watts and the counter of joules; NaN: could not be read, or there is no such.");
  nb::class_<FixedPowerSource, PowerSource>(module, "FixedPowerSource",
                                            "A power that is given: constant, or a function of the time in seconds.")
      .def(nb::init<double>(), nb::arg("watts"))
      .def(
          "__init__",
          [](FixedPowerSource* self, nb::callable watts) {
            const auto function = std::make_shared<nb::callable>(std::move(watts));
            new (self) FixedPowerSource([function](double time_s) { return call_watts(*function, time_s); });
          },
          nb::arg("watts"));
  module.def(
      "explain_missing_power",
      [](const std::string& root) {
        SensorOptions options;
        options.root = root;
        return explain_missing_power(options);
      },
      nb::arg("root"), nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "find_power_sources",
      [](std::vector<std::string> sensors, const std::string& root) {
        SensorOptions options;
        options.sensors = std::move(sensors);
        options.root = root;
        return find_power_sources(options);
      },
      nb::arg("sensors"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void add_power(nb::module_& module) {
  add_sources(module);
  nb::class_<OwnedPowerTracker>(module, "PowerTrackerCore")
      .def(nb::init<PowerSource&, double, std::string, std::size_t>(), nb::keep_alive<1, 2>())
      .def("start", &OwnedPowerTracker::start, nb::call_guard<nb::gil_scoped_release>())
      .def("is_running", &OwnedPowerTracker::is_running)
      .def("sample", &OwnedPowerTracker::sample, nb::call_guard<nb::gil_scoped_release>())
      .def("samples",
           [](const OwnedPowerTracker& tracker) {
             std::vector<PowerSample> samples;
             {
               const nb::gil_scoped_release released;
               samples = tracker.samples();
             }
             nb::list rows;
             for (const PowerSample& sample : samples) {
               rows.append(nb::make_tuple(sample.time_s, sample.watts));
             }
             return rows;
           })
      .def("stop",
           [](OwnedPowerTracker& tracker) {
             EnergyReport report;
             {
               const nb::gil_scoped_release released;
               report = tracker.stop();
             }
             return fields_of(report);
           })
      .def("report", [](const OwnedPowerTracker& tracker) {
        EnergyReport report;
        {
          const nb::gil_scoped_release released;
          report = tracker.report();
        }
        return fields_of(report);
      });
  module.def("integrate", [](nb::handle samples) {
    std::vector<PowerSample> converted;
    for (const nb::handle sample : samples) {
      converted.push_back({nb::cast<double>(sample[0]), nb::cast<double>(sample[1])});
    }
    return integrate(converted);
  });
}

}  // namespace kymo::python
