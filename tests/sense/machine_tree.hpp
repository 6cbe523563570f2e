// A machine made of files: a root directory whose proc and sysfs files a test writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sense/common/sensor.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {

class MachineTree {
 public:
  /// Writes a file, "/proc/stat", in place: readers that have it open see the new content.
  void write(std::string_view path, std::string_view content) {
    const std::filesystem::path file = at(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  }
  void remove(std::string_view path) { std::filesystem::remove_all(at(path)); }
  void link(std::string_view path, std::string_view target) {
    const std::filesystem::path file = at(path);
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  [[nodiscard]] std::filesystem::path at(std::string_view path) const {
    return std::filesystem::path(directory_.path()) / path.substr(1);
  }
  [[nodiscard]] sense::SensorContext context(std::uint64_t process = 1) const {
    return {std::filesystem::path(directory_.path()).string(), process};
  }
  [[nodiscard]] std::string root() const { return std::filesystem::path(directory_.path()).string(); }

 private:
  TemporaryDirectory directory_;
};

/// The sensors that a maker finds in the tree.
[[nodiscard]] inline sense::SensorList sensors_of(sense::SensorMaker make_sensors, const MachineTree& tree) {
  sense::SensorList list;
  make_sensors(tree.context(), list);
  return list;
}

/// The first sensor of a tier.
[[nodiscard]] inline const sense::Sensor& with(const sense::SensorList& list, Tier tier) {
  for (const auto& sensor : list) {
    if (sensor->tier() == tier) {
      return *sensor;
    }
  }
  throw std::runtime_error("no sensor of this tier");
}

/// Takes a device away: its files that are open say so, as those of sysfs do.
inline void unplug(const MachineTree& tree, std::string_view path) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tree.at(path))) {
    if (entry.is_regular_file()) {
      std::filesystem::resize_file(entry.path(), 0);
    }
  }
  std::filesystem::remove_all(tree.at(path));
}

/// The readings of sensors by "name" or "name{key=value,...}"; NaN: a gap. Metrics without a reading are not in it.
using Readings = std::map<std::string, double>;

[[nodiscard]] inline std::string key_of(const MetricDeclaration& metric) {
  std::string key = metric.name;
  for (std::size_t i = 0; i < metric.labels.size(); ++i) {
    key += (i == 0 ? "{" : ",") + metric.labels[i].first + "=" + metric.labels[i].second;
  }
  return metric.labels.empty() ? key : key + "}";
}

/// Reads all sensors at a time in nanoseconds.
[[nodiscard]] inline Readings read_all(const sense::SensorList& sensors, std::int64_t now_ns) {
  Readings result;
  for (const auto& sensor : sensors) {
    sensor->read(now_ns);
    for (std::size_t i = 0; i < sensor->metrics().size(); ++i) {
      if (sensor->readings()[i].has_value) {
        result[key_of(sensor->metrics()[i])] = sensor->readings()[i].value;
      }
    }
  }
  return result;
}

/// The declaration of a metric by its key; an empty one where there is none.
[[nodiscard]] inline MetricDeclaration declaration_of(const sense::SensorList& sensors, const std::string& key) {
  for (const auto& sensor : sensors) {
    for (const MetricDeclaration& metric : sensor->metrics()) {
      if (key_of(metric) == key) {
        return metric;
      }
    }
  }
  return {};
}

}  // namespace kymo::test
