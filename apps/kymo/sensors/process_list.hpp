// The processes of this machine for kymo top: by CPU, and those that have memory of a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/kymo/sensors/top_screen.hpp"
#include "sense/common/sensor.hpp"

namespace kymo::sense {
class NvmlLibrary;
}

namespace kymo::command {

/// Reads /proc below a root: about 10 us a process. Processes of other users are listed too.
class ProcessList {
 public:
  explicit ProcessList(const std::string& root);

  /// By falling CPU share since the look before, at most `most`; empty at the first look.
  [[nodiscard]] std::vector<TopProcess> look(std::size_t most);
  /// The name of a process; empty if there is none of that number.
  [[nodiscard]] std::string name_of(std::uint64_t pid) const;

 private:
  struct Seen {
    std::uint64_t ticks = 0;
    std::uint64_t start = 0;  ///< tells it from an earlier process of its number
  };

  std::string directory_;
  std::map<std::uint64_t, Seen> seen_;
  std::int64_t seen_ns_ = 0;
};

/// Asks NVML, if it is there.
class GpuProcessList {
 public:
  explicit GpuProcessList(std::string_view library = sense::SensorContext::default_nvml_library);
  [[nodiscard]] std::vector<TopGpuProcess> look(const ProcessList& names) const;

 private:
  std::shared_ptr<const sense::NvmlLibrary> library_;
};

}  // namespace kymo::command
