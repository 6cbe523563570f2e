// kymograph._analysis for kymograph.nvmetrics: boards, and the recorder of Jetson traces.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <kymo/nvmetrics.hpp>

#include "attributes.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

BoardConfig to_board(nb::handle object) {
  BoardConfig board;
  board.board_name = attribute<std::string>(object, "board_name");
  board.num_cpu_cores = attribute<unsigned>(object, "num_cpu_cores");
  board.gpu_load_path = attribute<std::string>(object, "gpu_load_path");
  board.emc_actmon_path = attribute<std::string>(object, "emc_actmon_path");
  board.emc_clk_rate_path = attribute<std::string>(object, "emc_clk_rate_path");
  for (const nb::handle rail : object.attr("power_rails")) {
    board.power_rails.push_back({attribute<std::string>(rail, "label"), attribute<std::string>(rail, "voltage_path"),
                                 attribute<std::string>(rail, "current_path"), attribute<bool>(rail, "is_total")});
  }
  for (const nb::handle zone : object.attr("thermal_zones")) {
    board.thermal_zones.push_back({attribute<std::string>(zone, "name"), attribute<std::string>(zone, "temp_path")});
  }
  return board;
}

/// The fields of BoardConfig in order, including its rails and zones.
nb::tuple from_board(const BoardConfig& board) {
  nb::list rails;
  for (const PowerRail& rail : board.power_rails) {
    rails.append(nb::make_tuple(rail.label, rail.voltage_path, rail.current_path, rail.is_total));
  }
  nb::list zones;
  for (const ThermalZone& zone : board.thermal_zones) {
    zones.append(nb::make_tuple(zone.name, zone.temp_path));
  }
  return nb::make_tuple(board.board_name, board.num_cpu_cores, board.gpu_load_path, board.emc_actmon_path,
                        board.emc_clk_rate_path, rails, zones);
}

/// An engine, owned by the process that created it: a forked child has a copy without threads.
class OwnedEngine {
 public:
  OwnedEngine(const std::string& output_path, nb::handle board, std::uint32_t fast_hz, std::uint32_t medium_hz,
              std::uint32_t slow_hz, const std::string& root, bool keeps_capture) {
    EngineConfig config;
    config.fast_hz = fast_hz;
    config.medium_hz = medium_hz;
    config.slow_hz = slow_hz;
    config.root = root;
    config.keeps_capture = keeps_capture;
    const BoardConfig converted = to_board(board);
    const nb::gil_scoped_release released;
    engine_ = std::make_unique<nvmetrics::Engine>(output_path, converted, config);
  }
  OwnedEngine(const OwnedEngine&) = delete;
  OwnedEngine& operator=(const OwnedEngine&) = delete;
  ~OwnedEngine() {
    if (is_of_another_process()) {
      static_cast<void>(engine_.release());
      return;
    }
    const nb::gil_scoped_release released;
    engine_.reset();
  }

  void start() {
    if (is_of_another_process()) {
      throw std::runtime_error("this NVMetrics belongs to the process that this one was forked from: make another");
    }
    engine_->start();
  }
  void stop() {
    if (!is_of_another_process()) {
      engine_->stop();
    }
  }
  [[nodiscard]] bool wait_for_warmup() const { return !is_of_another_process() && engine_->wait_for_warmup(); }
  std::uint64_t sync() { return is_of_another_process() ? 0 : engine_->sync(); }
  [[nodiscard]] std::uint64_t sample_count() const { return is_of_another_process() ? 0 : engine_->sample_count(); }
  [[nodiscard]] bool is_running() const { return !is_of_another_process() && engine_->is_running(); }

 private:
  using EngineConfig = nvmetrics::EngineConfig;

  [[nodiscard]] bool is_of_another_process() const { return ::getpid() != owner_; }

  pid_t owner_ = ::getpid();
  std::unique_ptr<nvmetrics::Engine> engine_;
};

}  // namespace

void add_nvmetrics(nb::module_& module) {
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  module.def(
      "detect_board",
      [](const std::string& root) {
        BoardConfig board;
        {
          const nb::gil_scoped_release released;
          board = detect_board(root);
        }
        return from_board(board);
      },
      nb::arg("root"));
  module.def(
      "get_board_config",
      [](const std::string& name, const std::string& root) {
        BoardConfig board;
        {
          const nb::gil_scoped_release released;
          board = get_board_config(name, root);
        }
        return from_board(board);
      },
      nb::arg("name"), nb::arg("root"));
  nb::class_<OwnedEngine>(module, "NVMetricsEngine")
      .def(nb::init<const std::string&, nb::handle, std::uint32_t, std::uint32_t, std::uint32_t, const std::string&,
                    bool>(),
           nb::arg("output_path"), nb::arg("board"), nb::arg("fast_hz"), nb::arg("medium_hz"), nb::arg("slow_hz"),
           nb::arg("root"), nb::arg("keep_capture"))
      .def("start", &OwnedEngine::start, free)
      .def("stop", &OwnedEngine::stop, free)
      .def("wait_for_warmup", &OwnedEngine::wait_for_warmup, free)
      .def("sync", &OwnedEngine::sync, free)
      .def("sample_count", &OwnedEngine::sample_count, free)
      .def("is_running", &OwnedEngine::is_running, free);
}

}  // namespace kymo::python
