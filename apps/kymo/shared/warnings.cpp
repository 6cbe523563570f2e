// Warnings about captures that readers need before the numbers.
#include "apps/kymo/shared/warnings.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "capture/recover/spool_file.hpp"
#include "timeline/source.hpp"

namespace kymo::command {

namespace {

void warn_of_drops(const stats::DropTotals& drops, Warnings& warnings) {
  if (drops.dropped_scopes != 0) {
    const double lost = static_cast<double>(drops.dropped_scopes);
    warnings.texts.push_back(fmt::format(
        "{} ({} of all) on {} were dropped because the pool was empty; KYMO_BUFFER=64MB makes it larger",
        format_plural(drops.dropped_scopes, "scope"),
        format_share(lost, lost + static_cast<double>(drops.recorded_scopes)), format_plural(drops.tracks, "track")));
  }
  if (drops.dropped_others != 0) {
    warnings.texts.push_back(fmt::format("{} (arguments, samples and the like) were dropped",
                                         format_plural(drops.dropped_others, "other event")));
  }
}

void warn_of_damage(const timeline::Source& source, Warnings& warnings) {
  const CaptureReader& capture = source.reader();
  const bool is_growing = !capture.is_closed() && capture::is_being_written(capture);
  // A last block that is being written, or that a kill cut off and whose content was found in shared memory.
  const bool may_end_torn = is_growing || source.unwritten_count() != 0;
  const std::vector<Damage> damages = capture.damages();
  constexpr std::size_t shown = 5;
  std::size_t count = 0;
  for (const Damage& damage : damages) {
    if (may_end_torn && damage.offset + damage.size >= capture.size_bytes()) {
      continue;
    }
    warnings.is_damaged = true;
    if (++count <= shown) {
      warnings.texts.push_back(fmt::format("{}: {} at byte {}: {}", printable(capture.path()),
                                           format_plural(damage.size, "byte"), damage.offset, printable(damage.what)));
    }
  }
  if (count > shown) {
    warnings.texts.push_back(
        fmt::format("{}: {} more places are damaged", printable(capture.path()), format_count(count - shown)));
  }
  if (is_growing) {
    warnings.texts.push_back(
        fmt::format("{}: process {} is still writing it", printable(capture.path()), capture.header().owner_pid));
  } else if (!capture.is_closed()) {
    // A killed process leaves its shared memory behind. A process that ended normally with a full disk does not.
    const bool was_killed =
        capture::find_spool_file(capture.header().spool_id).state != capture::SpoolFile::State::absent;
    warnings.texts.push_back(fmt::format(
        "{}: was not closed, its process was killed{}; `kymo recover` makes it whole", printable(capture.path()),
        was_killed ? "" : " or could not write on (a full disk), and what it had not written by then is missing"));
  }
}

void warn_of_alignment(const TimelineProcess& process, Warnings& warnings) {
  const std::string& host = process.declaration.host;
  const std::string who =
      fmt::format("process {}{}", process.declaration.pid, host.empty() ? "" : " on " + printable(host));
  if (process.alignment == Alignment::none) {
    warnings.texts.push_back(who + ": nothing ties its clock to the others'; it is shown as if both began at once");
  } else if (process.alignment != Alignment::same_boot) {
    const std::string bound = process.bound_ns < 0 ? std::string("an unknown amount")
                                                   : format_duration(static_cast<double>(process.bound_ns));
    warnings.texts.push_back(fmt::format("{}: its times are aligned by {}, to within {}", who,
                                         process.alignment == Alignment::wall_clock
                                             ? "wall clock (and as well as the machines' clocks agree)"
                                             : "a shared sync point",
                                         bound));
  }
}

}  // namespace

void Warnings::print() const {
  for (const std::string& text : texts) {
    say("warning: {}\n", text);
  }
}

int Warnings::exit_code() const {
  return to_int(is_damaged ? ExitCode::damaged : ExitCode::ok);
}

Warnings find_warnings(const Timeline& timeline, const stats::DropTotals& drops) {
  Warnings warnings;
  warn_of_drops(drops, warnings);
  for (const auto& source : timeline::sources_of(timeline)) {
    warn_of_damage(*source, warnings);
  }
  for (const std::string& complaint : timeline.complaints()) {
    warnings.texts.push_back(printable(complaint));
    warnings.is_damaged = true;
  }
  for (const TimelineProcess& process : timeline.processes()) {
    warn_of_alignment(process, warnings);
    for (const auto& [key, value] : process.infos) {
      if (key == "scope_every") {
        warnings.texts.push_back(
            fmt::format("process {}: only every {}th frame's scopes were recorded (KYMO_SCOPE_EVERY)",
                        process.declaration.pid, printable(value)));
      }
      if (key == "site_filter") {
        warnings.texts.push_back(fmt::format(
            "process {}: sites were left out (KYMO_SITES={}): what ran in them counts as their callers' own time",
            process.declaration.pid, printable(value)));
      }
    }
  }
  return warnings;
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace kymo::command
