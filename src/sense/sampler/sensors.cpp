#include "sense/sampler/sensors.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include <unistd.h>

#include "sense/common/device_files.hpp"

namespace kymo::sense {

namespace {

/// The requested sensor names.
class NameFilter {
 public:
  explicit NameFilter(const std::vector<std::string>& names) : names_(names) {
    const std::vector<std::string> known = sensor_names();
    for (const std::string& name : names) {
      const std::string bare = name.substr(name.rfind('-', 0) == 0 ? 1 : 0);
      if (std::find(known.begin(), known.end(), bare) == known.end()) {
        std::string message = "there is no sensor '" + bare + "'; there are";
        for (const std::string& other : known) {
          message += " " + other;
        }
        throw std::invalid_argument(message);
      }
      has_wanted_ = has_wanted_ || bare.size() == name.size();
    }
  }

  [[nodiscard]] bool takes(const std::string& name) const {
    const auto is_listed = [this](const std::string& entry) {
      return std::find(names_.begin(), names_.end(), entry) != names_.end();
    };
    return (!has_wanted_ || is_listed(name)) && !is_listed("-" + name);
  }

 private:
  const std::vector<std::string>& names_;
  bool has_wanted_ = false;
};

bool belongs_to(SensorGroup group, const SensorKind& kind) {
  switch (group) {
    case SensorGroup::all:
      return true;
    case SensorGroup::of_process:
      return kind.is_of_process;
    case SensorGroup::quick_of_machine:
      return !kind.is_of_process && !kind.is_slow_to_make;
    case SensorGroup::slow_of_machine:
      return !kind.is_of_process && kind.is_slow_to_make;
  }
  return false;
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

SensorList make_sensors(const SensorOptions& options, SensorGroup group) {
  const NameFilter filter(options.sensors);
  SensorContext context;
  context.root = without_end_slash(options.root);
  context.process = options.process != 0 ? options.process : static_cast<std::uint64_t>(::getpid());
  context.board = options.board;
  SensorList list;
  for (const SensorKind& kind : sensor_kinds()) {
    const bool is_wanted = belongs_to(group, kind) && (options.covers_machine || kind.is_of_process) &&
                           std::any_of(kind.names.begin(), kind.names.end(), [&filter](std::string_view name) {
                             return !name.empty() && filter.takes(std::string(name));
                           });
    if (is_wanted) {
      (context.board != nullptr && kind.make_of_board != nullptr ? kind.make_of_board : kind.make)(context, list);
    }
  }
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&filter](const std::unique_ptr<Sensor>& sensor) { return !filter.takes(sensor->name()); }),
             list.end());
  return list;
}

}  // namespace kymo::sense
