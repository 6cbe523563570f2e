// Programs recorded by kymo record, and what their captures say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include <kymo/capture.hpp>

#include "command_fixture.hpp"

namespace kymo::test {

class Record : public CommandTest {
 protected:
  [[nodiscard]] nlohmann::json stats_of(const std::string& capture) const {
    return nlohmann::json::parse(kymo({"stats", "--json", capture}).out);
  }
  [[nodiscard]] nlohmann::json info_of(const std::string& capture) const {
    return nlohmann::json::parse(kymo({"info", "--json", capture}).out);
  }
  /// How many scopes of a name a capture has.
  [[nodiscard]] std::uint64_t count_of(const std::string& capture, const std::string& name) const {
    const auto stats = stats_of(capture);
    for (const auto& site : stats["sites"]) {
      if (site["name"] == name) {
        return site["count"];
      }
    }
    return 0;
  }
  /// The process that says something of such a key about itself.
  [[nodiscard]] static nlohmann::json process_with(const nlohmann::json& info, const std::string& key) {
    for (const auto& process : info["processes"]) {
      if (process["infos"].contains(key)) {
        return process;
      }
    }
    ADD_FAILURE() << "no process has " << key;
    return {};
  }
  /// Whether the sampler of a `kymo record -o NAME.kymo` that runs has a value of a metric by now.
  [[nodiscard]] bool has_metric_by_now(const std::string& name, const std::string& metric) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string machine = entry.path().string() + "/~machine.kymo";
      if (entry.path().filename().string().rfind(name + ".kymo.parts-", 0) == 0 && std::filesystem::exists(machine) &&
          std::filesystem::file_size(machine) > 0) {
        const CaptureReader reader(machine);
        const auto& metrics = reader.declarations().metrics;
        return std::any_of(metrics.begin(), metrics.end(),
                           [&](const MetricDeclaration& declared) { return declared.name == metric; });
      }
    }
    return false;
  }
  [[nodiscard]] bool has_parts() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().string().find(".parts-") != std::string::npos) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace kymo::test
