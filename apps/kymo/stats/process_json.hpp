// Whose a row of JSON is.
#pragma once

#include <cstddef>

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

namespace kymo::command {

/// Adds the process of a row, or of how many processes it is the sum.
inline void put_process(const Timeline& timeline, bool by_process, ProcessId id, std::size_t processes,
                        nlohmann::ordered_json& row) {
  if (by_process) {
    row["process"] = id.value();
    row["pid"] = timeline.process(id).declaration.pid;
  } else {
    row["processes"] = processes;
  }
}

}  // namespace kymo::command
