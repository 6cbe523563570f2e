// The name of a metric as people read it, in tables, charts and messages.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <kymo/declarations.hpp>

namespace kymo::base {

/// " gpu=0 mig=1": the labels of a metric, each behind a space. Leaves out a `uuid` beside other labels, since the
/// number of the device identifies it on its machine. Files and JSON keep all labels.
[[nodiscard]] inline std::string labels_text(const MetricDeclaration& metric) {
  std::string text;
  for (const auto& [key, value] : metric.labels) {
    if (key != "uuid" || metric.labels.size() == 1) {
      text.append(" ").append(key).append("=").append(value);
    }
  }
  return text;
}

[[nodiscard]] inline bool has_label(const MetricDeclaration& metric, std::string_view key) {
  return std::any_of(metric.labels.begin(), metric.labels.end(),
                     [key](const auto& label) { return label.first == key; });
}

/// "gpu_power gpu=0".
[[nodiscard]] inline std::string full_name(const MetricDeclaration& metric) {
  return metric.name + labels_text(metric);
}

}  // namespace kymo::base
