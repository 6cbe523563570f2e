// What a capture says of AMD's and Intel's GPUs: name, driver and power limit.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sense/common/device_files.hpp"

namespace kymo::sense {

/// Keys and values, as ("name", "Navi 31 [Radeon RX 7900 XTX]"). A value that is not known is empty. Reads the list of
/// PCI devices: milliseconds.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of_gpu(const GpuCard& card,
                                                                            const std::string& root);

}  // namespace kymo::sense
