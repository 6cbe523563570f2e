#include "sense/sampler/sensors.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include <unistd.h>

#include "sense/common/device_files.hpp"

namespace kymo::sense {

namespace {

/// Whether a list of names requests a sensor: "cpu,memory", or "-gpu" for all but one.
bool take(const std::vector<std::string>& names, const std::string& sensor) {
  const auto has = [&names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool takes_all =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with('-'); });
  return (takes_all || has(sensor)) && !has("-" + sensor);
}

bool belongs_to(SensorGroup group, const SensorKind& kind) {
  const SensorGroup of_kind = kind.is_of_process     ? SensorGroup::of_process
                              : kind.is_slow_to_make ? SensorGroup::slow_of_machine
                                                     : SensorGroup::quick_of_machine;
  return group == SensorGroup::all || group == of_kind;
}

}  // namespace

std::vector<std::string> sensor_names() {
  std::vector<std::string> names;
  for (const SensorKind& kind : sensor_kinds()) {
    for (const std::string_view name : kind.names) {
      if (!name.empty()) {
        names.emplace_back(name);
      }
    }
  }
  return names;
}

bool is_of_power(std::string_view sensor) {
  const std::span<const SensorKind> kinds = sensor_kinds();
  return std::any_of(kinds.begin(), kinds.end(), [sensor](const SensorKind& kind) { return kind.power == sensor; });
}

void check_sensor_names(const std::vector<std::string>& names) {
  const std::vector<std::string> known = sensor_names();
  for (const std::string& name : names) {
    const std::string bare = name.substr(name.starts_with('-') ? 1 : 0);
    if (std::find(known.begin(), known.end(), bare) == known.end()) {
      std::string message = "there is no sensor '" + bare + "'; there are";
      for (const std::string& other : known) {
        message += " " + other;
      }
      throw std::invalid_argument(message);
    }
  }
}

SensorList make_sensors(const SensorOptions& options, SensorGroup group) {
  const std::vector<std::string>& wanted = options.sensors;
  check_sensor_names(wanted);
  SensorContext context;
  context.root = without_end_slash(options.root);
  context.process = options.process != 0 ? options.process : static_cast<std::uint64_t>(::getpid());
  context.board = options.board;
  SensorList list;
  for (const SensorKind& kind : sensor_kinds()) {
    const bool is_wanted = belongs_to(group, kind) && (options.covers_machine || kind.is_of_process) &&
                           std::any_of(kind.names.begin(), kind.names.end(), [&wanted](std::string_view name) {
                             return !name.empty() && take(wanted, std::string(name));
                           });
    if (is_wanted) {
      (context.board != nullptr && kind.make_of_board != nullptr ? kind.make_of_board : kind.make)(context, list);
    }
  }
  std::erase_if(list, [&wanted](const std::unique_ptr<Sensor>& sensor) { return !take(wanted, sensor->name()); });
  return list;
}

}  // namespace kymo::sense
