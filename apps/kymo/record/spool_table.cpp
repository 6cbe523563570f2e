#include "apps/kymo/record/spool_table.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

using State = capture::Leftover::State;

std::string describe(const capture::Leftover& leftover) {
  std::string text = capture::name_of(leftover.state);
  if (leftover.state == State::unwritten) {
    text += fmt::format(", {} not in the capture", format_plural(leftover.scope_events, "scope event"));
  }
  return leftover.note.empty() ? text : text + ": " + printable(leftover.note);
}

void print_leftovers(const std::vector<capture::Leftover>& leftovers) {
  Table table({{"file", Align::left},
               {"user"},
               {"process"},
               {"age"},
               {"memory"},
               {"capture", Align::left},
               {"state", Align::left}});
  for (const capture::Leftover& leftover : leftovers) {
    table.add({printable(std::filesystem::path(leftover.path).filename().string()), std::to_string(leftover.owner),
               leftover.pid != 0 ? std::to_string(leftover.pid) : std::string(),
               format_duration(static_cast<double>(leftover.age_s) * 1e9), format_bytes(leftover.bytes),
               printable(leftover.capture), describe(leftover)});
  }
  table.print();
}

nlohmann::ordered_json to_json(const capture::Leftover& leftover) {
  return {{"path", leftover.path},
          {"user", leftover.owner},
          {"pid", leftover.pid},
          {"age_s", leftover.age_s},
          {"bytes", leftover.bytes},
          {"capture", leftover.capture},
          {"state", capture::name_of(leftover.state)},
          {"scope_events", leftover.scope_events},
          {"note", leftover.note}};
}

}  // namespace kymo::command
