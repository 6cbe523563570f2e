// Warnings about captures that readers need before the numbers.
#include "apps/kymo/shared/warnings.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/ranges.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "base/text/text.hpp"
#include "capture/merge/id_translation.hpp"
#include "capture/read/source_losses.hpp"
#include "capture/recover/spool_file.hpp"
#include "stats/common/power_curve.hpp"
#include "timeline/holes.hpp"
#include "timeline/source.hpp"

namespace kymo::command {

namespace {

using capture::WriterState;

void warn_of_drops(const stats::DropTotals& drops, Warnings& warnings) {
  if (drops.dropped_scopes != 0) {
    const double lost = static_cast<double>(drops.dropped_scopes);
    warnings.texts.push_back(fmt::format(
        "{} ({} of all) on {} were dropped. KYMO_BUFFER=64MB helps if the pool was empty; deep nesting, signal handlers, "
        "too many names and a full disk drop scopes as well",
        format_plural(drops.dropped_scopes, "scope"),
        format_share(lost, lost + static_cast<double>(drops.recorded_scopes)), format_plural(drops.tracks, "track")));
  }
  if (drops.dropped_others != 0) {
    warnings.texts.push_back(fmt::format("{} (arguments, samples and the like) were dropped",
                                         format_plural(drops.dropped_others, "other event")));
  }
}

/// A fact of all processes (`info`, if there is such a one) and of the captures' ends, added up.
std::uint64_t sum_of_facts(const Timeline& timeline, std::string_view info, std::string_view closing_fact) {
  std::uint64_t sum = 0;
  for (const InfoDeclaration& known : timeline.declarations().infos) {
    if (!info.empty() && known.key == info) {
      sum += parse_number<std::uint64_t>(known.value).value_or(0);
    }
  }
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    for (const auto& [key, value] : timeline.capture(i).end().facts) {
      sum += key == closing_fact ? value : 0;
    }
  }
  return sum;
}

/// What was lost of run states and stacks.
void warn_of_lost_records(const Timeline& timeline, Warnings& warnings) {
  std::vector<std::string>& texts = warnings.texts;
  if (const auto lost = sum_of_facts(timeline, "record.threads_lost_records", "threads_lost_records"); lost != 0) {
    texts.push_back(fmt::format("{} of what threads did were lost: their run states are unknown at those times",
                                format_plural(lost, "record")));
  }
  if (const auto lost = sum_of_facts(timeline, {}, "stacks_lost"); lost != 0) {
    texts.push_back(fmt::format("the kernel lost the stacks of {}", format_plural(lost, "sample")));
  }
  if (const auto overruns = sum_of_facts(timeline, {}, "stacks_overruns"); overruns != 0) {
    texts.push_back(
        fmt::format("kymo record read too late {}: samples may be missing", format_plural(overruns, "time")));
  }
  if (const auto left_out = sum_of_facts(timeline, {}, "stacks_left_out"); left_out != 0) {
    texts.push_back(fmt::format("{} left out: kymo record follows no more functions, stacks or threads",
                                format_plural(left_out, "sample")));
  }
}

/// Compares every block with its checksum, so that the readers know of damage wherever it is.
void check_blocks(std::span<const std::unique_ptr<timeline::Source>> sources) {
  Progress progress("checking");
  std::uint64_t bytes = 1;
  std::uint64_t done = 0;
  for (const auto& source : sources) {
    bytes += source->reader().size_bytes();
  }
  for (const auto& source : sources) {
    for (const BlockInfo& block : source->reader().blocks()) {
      static_cast<void>(source->reader().check_stored(block));
      done += block.stored_bytes;
      progress.update(static_cast<double>(done) / static_cast<double>(bytes));
    }
  }
}

/// What the blocks among the damaged places cost.
DamageTotals add_up(const CaptureReader& capture, const std::vector<Damage>& damages) {
  DamageTotals totals;
  std::vector<TimeRange> ranges;
  for (const Damage& damage : damages) {
    totals.bytes += damage.size;
    const auto& blocks = capture.blocks();
    const auto block =
        std::lower_bound(blocks.begin(), blocks.end(), damage.offset,
                         [](const BlockInfo& known, std::uint64_t offset) { return known.offset < offset; });
    if (block == blocks.end() || block->offset != damage.offset) {
      continue;
    }
    ++totals.blocks;
    if (block->kind == BlockKind::events) {
      ++totals.event_blocks;
      ranges.push_back({block->start_ns, block->end_ns});
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](TimeRange a, TimeRange b) { return a.start_ns < b.start_ns; });
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  for (const TimeRange range : ranges) {
    const std::int64_t start_ns = std::max(range.start_ns, end_ns);
    const std::int64_t length_ns = range.end_ns > start_ns ? stats::nanoseconds_between(start_ns, range.end_ns) : 0;
    totals.span_ns = capture::add_times(totals.span_ns, length_ns);
    end_ns = std::max(end_ns, range.end_ns);
  }
  return totals;
}

/// Whether a last block that is incomplete is no damage: it is being written, or a kill cut it off and its content was
/// found in shared memory.
bool may_end_torn(const timeline::Source& source) {
  const CaptureReader& capture = source.reader();
  const WriterState::Kind writer = capture::find_writer(capture).kind;
  return source.unwritten_count() != 0 || writer == WriterState::Kind::living || writer == WriterState::Kind::closed;
}

std::vector<Damage> damages_of(const timeline::Source& source) {
  return capture::damages_of(source.reader(), may_end_torn(source));
}

/// How much of a capture is damaged, and what that costs.
std::string describe_damage(const timeline::Source& source, const std::vector<Damage>& damages,
                            const DamageTotals& totals) {
  const CaptureReader& capture = source.reader();
  std::string text = fmt::format("{}: {} ({} of {}) cannot be read", printable(capture.path()),
                                 totals.blocks != 0 ? format_plural(totals.blocks, "damaged block")
                                                    : format_plural(damages.size(), "damaged place"),
                                 format_bytes(totals.bytes), format_bytes(capture.size_bytes()));
  if (totals.event_blocks != 0) {
    const TimeRange range = source.range();
    text += fmt::format(": what threads did in {} of {} is missing wherever events are read",
                        format_duration(static_cast<double>(totals.span_ns)),
                        format_duration(1e9 * stats::seconds_between(range.start_ns, range.end_ns)));
  }
  return text;
}

/// Why a capture has no end.
std::string describe_end(const CaptureReader& capture) {
  switch (capture::find_writer(capture).kind) {
    case WriterState::Kind::living:
      return fmt::format("process {} is still writing it", capture.header().owner_pid);
    case WriterState::Kind::closed:
      return "was closed while it was read; its last events are missing here";
    case WriterState::Kind::gone:
    case WriterState::Kind::unknown:
      break;
  }
  // A killed process leaves its shared memory behind. A process that ended normally with a full disk does not.
  const bool was_killed =
      capture::find_spool_file(capture.header().spool_id).state != capture::SpoolFile::State::absent;
  return fmt::format(
      "was not closed, its process was killed{}; `kymo recover` makes it whole",
      was_killed ? "" : " or could not write on (a full disk), and what it had not written by then is missing");
}

/// Stretches of which nothing is in the file.
void warn_of_holes(const timeline::Source& source, Warnings& warnings) {
  double missing_ns = 0;
  for (const TimeRange hole : timeline::holes_of(source)) {
    missing_ns += 1e9 * stats::seconds_between(hole.start_ns, hole.end_ns);
  }
  if (missing_ns > 0) {
    const TimeRange range = source.range();
    warnings.texts.push_back(fmt::format(
        "{}: {} of {} are not in it: blocks are missing there, as between triggers of a flight recorder (KYMO_KEEP)",
        printable(source.reader().path()), format_duration(missing_ns),
        format_duration(1e9 * stats::seconds_between(range.start_ns, range.end_ns))));
  }
}

void warn_of_damage(const timeline::Source& source, Warnings& warnings) {
  const CaptureReader& capture = source.reader();
  const std::vector<Damage> damages = damages_of(source);
  if (damages.empty()) {
    warn_of_holes(source, warnings);
  } else {
    warnings.is_damaged = true;
    const DamageTotals totals = add_up(capture, damages);
    warnings.texts.push_back(describe_damage(source, damages, totals));
    warnings.damage.blocks += totals.blocks;
    warnings.damage.event_blocks += totals.event_blocks;
    warnings.damage.bytes += totals.bytes;
    warnings.damage.span_ns = capture::add_times(warnings.damage.span_ns, totals.span_ns);
  }
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(shown, damages.size()); ++i) {
    warnings.texts.push_back(fmt::format("{}: {} at byte {}: {}", printable(capture.path()),
                                         format_plural(damages[i].size, "byte"), damages[i].offset,
                                         printable(damages[i].what)));
  }
  if (damages.size() > shown) {
    warnings.texts.push_back(fmt::format("{}: {} more places are damaged; `kymo info --check --json` lists all",
                                         printable(capture.path()), format_count(damages.size() - shown)));
  }
  if (!capture.is_closed()) {
    warnings.texts.push_back(printable(capture.path()) + ": " + describe_end(capture));
  }
}

/// What could not be opened is missing; nothing is in an empty file.
void warn_of_left_out(const Timeline& timeline, Warnings& warnings) {
  for (const std::string& complaint : timeline.complaints()) {
    warnings.texts.push_back(printable(complaint));
    warnings.is_damaged = true;
  }
  for (const std::string& file : timeline.empty_files()) {
    warnings.texts.push_back(describe_empty_file(file));
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

/// What a process says of itself that readers need before the numbers.
void warn_of_facts(const TimelineProcess& process, Warnings& warnings) {
  for (const auto& [key, value] : process.infos) {
    if (key == capture::unread_bytes_key) {
      warnings.texts.push_back(
          fmt::format("process {}: {} could not be read when its capture was merged or recovered; what was there is "
                      "missing",
                      process.declaration.pid, format_bytes(parse_number<std::uint64_t>(value).value_or(0))));
    }
    if (key == capture::lacks_end_key) {
      warnings.texts.push_back(
          fmt::format("process {}: its capture had not been closed, and not all that it lacked was found: events are "
                      "missing at its end, if there were any",
                      process.declaration.pid));
    }
    if (key == "scope_every") {
      warnings.texts.push_back(fmt::format("process {}: the scopes of 1 in {} frames were recorded (KYMO_SCOPE_EVERY)",
                                           process.declaration.pid, printable(value)));
    }
    if (key == "scope_max_frames") {
      warnings.texts.push_back(
          fmt::format("process {}: scopes were recorded up to mark {} of the main stream (KYMO_SCOPE_MAX_FRAMES)",
                      process.declaration.pid, printable(value)));
    }
    if (key == "site_filter") {
      warnings.texts.push_back(fmt::format(
          "process {}: sites were left out (KYMO_SITES={}): what ran in them counts as their callers' own time",
          process.declaration.pid, printable(value)));
    }
  }
}

/// Joins texts that differ in their subject alone, such as "run.kymo: was not closed", where there are many.
std::vector<std::string> joined_alike(std::vector<std::string> texts) {
  constexpr std::size_t most_of_a_kind = 3;
  const auto predicate_of = [](const std::string& text) {
    const std::size_t at = text.find(": ");
    return at == std::string::npos ? std::string() : text.substr(at);
  };
  std::map<std::string, std::size_t> counts;
  for (const std::string& text : texts) {
    ++counts[predicate_of(text)];
  }
  std::set<std::string> joined;
  std::erase_if(texts, [&](std::string& text) {
    const std::string predicate = predicate_of(text);
    const std::size_t count = counts[predicate];
    if (predicate.empty() || count <= most_of_a_kind) {
      return false;
    }
    text.insert(text.size() - predicate.size(), fmt::format(" and {} more", format_count(count - 1)));
    return !joined.insert(predicate).second;
  });
  return texts;
}

}  // namespace

void Warnings::print() const {
  for (const std::string& text : joined_alike(texts)) {
    say("warning: {}\n", text);
  }
}

int Warnings::exit_code() const {
  return to_int(is_damaged ? ExitCode::damaged : ExitCode::ok);
}

Warnings find_unread(const Timeline& timeline) {
  Warnings warnings;
  check_blocks(timeline::sources_of(timeline));
  for (const auto& source : timeline::sources_of(timeline)) {
    if (const std::vector<Damage> damages = damages_of(*source); !damages.empty()) {
      warnings.texts.push_back(describe_damage(*source, damages, add_up(source->reader(), damages)));
      warnings.is_damaged = true;
    }
  }
  warn_of_left_out(timeline, warnings);
  return warnings;
}

stats::DropTotals drops_of(const std::vector<TrackTotals>& tracks) {
  stats::DropTotals drops;
  for (const TrackTotals& track : tracks) {
    drops.add(track);
  }
  return drops;
}

Warnings find_warnings(const Timeline& timeline, const stats::DropTotals& drops) {
  Warnings warnings;
  warn_of_drops(drops, warnings);
  warn_of_lost_records(timeline, warnings);
  if (sum_of_facts(timeline, "scopes_stopped", {}) != 0) {
    warnings.texts.emplace_back("scopes stopped where the capture had reached its size (KYMO_MAX_SIZE)");
  }
  check_blocks(timeline::sources_of(timeline));
  for (const auto& source : timeline::sources_of(timeline)) {
    warn_of_damage(*source, warnings);
  }
  warn_of_left_out(timeline, warnings);
  for (const TimelineProcess& process : timeline.processes()) {
    warn_of_alignment(process, warnings);
    warn_of_facts(process, warnings);
  }
  return warnings;
}

void warn_of_missing_blocks(const stats::Statistics& statistics, bool uses_summaries, Warnings& warnings) {
  const std::size_t damaged = warnings.damage.event_blocks;
  if (damaged == 0) {
    return;
  }
  const std::size_t missing = std::min(statistics.blocks_damaged, damaged);
  if (!uses_summaries) {
    warnings.texts.emplace_back(
        "the tables are from the events that can be read; without --decode, for whole recordings, they are from "
        "summaries, which count damaged blocks too");
  } else if (missing == 0) {
    warnings.texts.push_back(
        fmt::format("the tables are whole all the same: summaries count what was in {}; the call tree, the slowest "
                    "frames, parts of the recording and exports lack it",
                    format_plural(damaged, "damaged block")));
  } else {
    warnings.texts.push_back(fmt::format("the tables lack what was in {}; summaries count what was in the other {}",
                                         format_plural(missing, "damaged block"), format_count(damaged - missing)));
  }
}

void warn_of_forced_closes(const stats::Statistics& statistics, Warnings& warnings) {
  std::uint64_t count = 0;
  for (const stats::SiteStatistics& site : statistics.sites) {
    count += site.unbalanced;
  }
  if (count != 0) {
    warnings.texts.push_back(fmt::format(
        "{} were closed by force, so durations may be wrong: greenlets that share a thread, generators that "
        "are left, longjmp and threads that end leave scopes open",
        format_plural(count, "scope")));
  }
}

nlohmann::ordered_json labels_json(const std::vector<std::pair<std::string, std::string>>& labels) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : labels) {
    object[key] = value;
  }
  return object;
}

void print_json(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // The library escapes C0. What else terminals obey stands in strings only.
  std::string harmless;
  harmless.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto [code, size] = base::look_at_control(std::string_view(text).substr(i));
    if (text[i] == '\n' || size == 0) {
      harmless += text[i];
      continue;
    }
    i += size - 1;
    harmless += fmt::format("\\u{:04x}", code);
  }
  fmt::print("{}\n", harmless);
}

}  // namespace kymo::command
