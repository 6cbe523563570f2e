// The thermal zones of a board configuration, by its paths. Sensor "thermal".
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

namespace {

class BoardZoneSensor final : public Sensor {
 public:
  explicit BoardZoneSensor(const SensorContext& context) : Sensor("thermal", Tier::slow) {
    for (const ThermalZone& zone : context.board->thermal_zones) {
      MetricDeclaration metric = describe("temperature", "C", zone.temp_path, MetricKind::gauge, 0.001);
      metric.labels.emplace_back("zone", zone.name);
      add_metric(std::move(metric));
      files_.emplace_back(zone.temp_path, number_bytes);
    }
    if (files_.empty()) {
      set_unavailable("this board has no thermal zones");
    }
  }

 protected:
  void read_source(std::int64_t /*now_ns*/) override {
    const SourceFile* failed = nullptr;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const double celsius = files_[i].read_number() / 1000;
      constexpr double least = -273.15;
      constexpr double most = 1000;
      set(i, celsius >= least && celsius <= most ? celsius : std::numeric_limits<double>::quiet_NaN());
      // A part that is powered down has no temperature. This is no error.
      if (files_[i].error() != 0 && files_[i].error() != EAGAIN) {
        failed = &files_[i];
      }
    }
    if (files_.empty()) {
      set_unavailable("this board has no thermal zones");
    } else if (failed != nullptr) {
      set_trouble(failed->describe_error());
    } else {
      clear_trouble();
    }
  }

 private:
  std::vector<SourceFile> files_;
};

}  // namespace

void make_board_zone_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<BoardZoneSensor>(context));
}

}  // namespace kymo::sense
