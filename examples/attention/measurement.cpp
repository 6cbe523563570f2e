#include "measurement.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace attention {

void Likeness::add(const Matrix& output, const Matrix& baseline) {
  for (std::size_t at = 0; at < output.size(); at += dimension) {
    double product = 0;
    double length = 0;
    double other_length = 0;
    for (std::size_t part = at; part < at + dimension; ++part) {
      const double value = output[part];
      const double other = baseline[part];
      product += value * other;
      length += value * value;
      other_length += other * other;
    }
    cosines += product / std::sqrt(length * other_length);
    const auto greatest = [at](const Matrix& matrix) {
      const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(at);
      return std::max_element(first, first + static_cast<std::ptrdiff_t>(dimension)) - first;
    };
    agreements += greatest(output) == greatest(baseline) ? 1U : 0U;
    ++positions;
  }
}

EnergyMeter::EnergyMeter() : sources_(kymo::find_power_sources()) {
  if (!sources_.empty()) {
    tracker_ = std::make_unique<kymo::PowerTracker>(*sources_.front(), 100);
  }
}

void EnergyMeter::start() {
  if (tracker_) {
    tracker_->start();
  }
}

double EnergyMeter::stop() {
  return tracker_ ? tracker_->stop().energy_j : kymo::no_value;
}

void write_metrics(const std::string& path, const std::vector<std::pair<std::string, double>>& metrics) {
  std::string json = "{";
  for (const auto& [name, value] : metrics) {
    json += json.size() > 1 ? "," : "";
    json += "\"" + name + "\":";
    if (std::isfinite(value)) {
      std::array<char, 32> buffer{};
      json.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
    } else {
      json += "null";
    }
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json << "}\n";
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace attention
