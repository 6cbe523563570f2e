// `kymo record` takes spools of the processes it started that found no room in tmpfs.
#pragma once

#include <string>

namespace kymo::control {

/// Connects to its socket; -1 when there is none.
[[nodiscard]] int connect_to_holder(const std::string& path);

}  // namespace kymo::control
