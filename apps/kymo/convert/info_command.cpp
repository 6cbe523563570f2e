// kymo info: shows the contents of captures.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "capture/merge/clock_alignment.hpp"
#include "capture/recover/spool_file.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
  CaptureArguments captures;
  bool is_json = false;
  bool is_checked = false;
};

std::string name_of_block(BlockKind kind) {
  const std::string_view known = name_of(kind);
  return known.empty() ? fmt::format("kind_{}", static_cast<unsigned>(kind)) : std::string(known);
}

double length_ns(TimeRange range) {
  return static_cast<double>(range.end_ns) - static_cast<double>(range.start_ns);
}

/// Number and size of a capture's blocks of each kind.
struct BlockTotals {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, BlockTotals> count_blocks(const CaptureReader& capture) {
  std::map<std::string, BlockTotals> totals;
  for (const BlockInfo& block : capture.blocks()) {
    BlockTotals& of_kind = totals[name_of_block(block.kind)];
    ++of_kind.count;
    of_kind.bytes += block.stored_bytes;
  }
  return totals;
}

Json to_json(const CaptureReader& capture) {
  Json blocks = Json::object();
  for (const auto& [kind, totals] : count_blocks(capture)) {
    blocks[kind] = {{"count", totals.count}, {"stored_bytes", totals.bytes}};
  }
  Json damages = Json::array();
  for (const Damage& damage : capture.damages()) {
    damages.push_back({{"offset", damage.offset}, {"size", damage.size}, {"what", damage.what}});
  }
  Json facts = Json::object();
  for (const auto& [key, value] : capture.end().facts) {
    facts[key] = value;
  }
  const CaptureHeader& header = capture.header();
  return {{"path", capture.path()},
          {"bytes", capture.size_bytes()},
          {"is_closed", capture.is_closed()},
          {"recorder", header.recorder},
          {"clock_source", header.clock_source},
          {"clock_step_ns", header.clock_step_ns},
          {"owner_pid", header.owner_pid},
          {"blocks", std::move(blocks)},
          {"damages", std::move(damages)},
          {"closing_facts", std::move(facts)}};
}

Json to_json(const TimelineProcess& process) {
  Json infos = Json::object();
  for (const auto& [key, value] : process.infos) {
    infos[key] = value;
  }
  const ProcessDeclaration& declared = process.declaration;
  return {{"id", declared.id.value()},      {"pid", declared.pid},
          {"host", declared.host},          {"boot_id", declared.boot_id},
          {"rank", declared.rank},          {"command_line", declared.command_line},
          {"capture", process.capture},     {"alignment", name_of(process.alignment)},
          {"offset_ns", process.offset_ns}, {"bound_ns", process.bound_ns},
          {"infos", std::move(infos)}};
}

std::map<TrackId, TrackTotals> by_track(const std::vector<TrackTotals>& totals) {
  std::map<TrackId, TrackTotals> map;
  for (const TrackTotals& track : totals) {
    map[track.track] = track;
  }
  return map;
}

/// Counts that belong to no declared track: of threads that never got one, and of lost declarations.
std::vector<TrackTotals> undeclared_of(const Timeline& timeline, const std::vector<TrackTotals>& totals) {
  std::vector<TrackTotals> undeclared;
  for (const TrackTotals& track : totals) {
    const bool is_declared = track.track.index() < timeline.tracks().size();
    if (!is_declared && (track.recorded_scopes != 0 || track.dropped_scopes != 0 || track.dropped_others != 0)) {
      undeclared.push_back(track);
    }
  }
  return undeclared;
}

const char* name_of_undeclared(const TrackTotals& track) {
  return track.track ? "(undeclared)" : "(threads without a track)";
}

bool has_trait(const MetricDeclaration& metric, std::uint32_t trait) {
  return (metric.traits & trait) != 0;
}

/// "core=0, zone=cpu".
std::string format_labels(const MetricDeclaration& metric) {
  std::string text;
  for (const auto& [key, value] : metric.labels) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return printable(text, 40);
}

/// Special properties of a metric's values.
std::string format_traits(const MetricDeclaration& metric) {
  std::string text;
  const auto add = [&text](bool is_so, const char* word) {
    text += is_so ? (text.empty() ? "" : ", ") + std::string(word) : "";
  };
  add(metric.kind == MetricKind::counter, "counter");
  add(metric.kind == MetricKind::energy_counter, "energy counter");
  add(has_trait(metric, MetricDeclaration::estimated), "estimated");
  add(has_trait(metric, MetricDeclaration::total), "total");
  return text;
}

void print_as_json(const Timeline& timeline, const std::vector<TrackTotals>& totals, const SpanList& open,
                   const Warnings& warnings) {
  Json captures = Json::array();
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    captures.push_back(to_json(timeline.capture(i)));
  }
  Json processes = Json::array();
  for (const TimelineProcess& process : timeline.processes()) {
    processes.push_back(to_json(process));
  }
  Json tracks = Json::array();
  auto track_totals = by_track(totals);
  for (const TrackDeclaration& track : timeline.tracks()) {
    const TrackTotals& of_track = track_totals[track.id];
    tracks.push_back({{"id", track.id.value()},
                      {"process", track.process.value()},
                      {"kind", name_of(track.kind, track.role)},
                      {"name", track.name},
                      {"os_thread_id", track.os_thread_id},
                      {"recorded_scopes", of_track.recorded_scopes},
                      {"dropped_scopes", of_track.dropped_scopes},
                      {"dropped_others", of_track.dropped_others}});
  }
  for (const TrackTotals& track : undeclared_of(timeline, totals)) {
    tracks.push_back({{"id", track.track.value()},
                      {"process", nullptr},
                      {"kind", nullptr},
                      {"name", name_of_undeclared(track)},
                      {"os_thread_id", nullptr},
                      {"recorded_scopes", track.recorded_scopes},
                      {"dropped_scopes", track.dropped_scopes},
                      {"dropped_others", track.dropped_others}});
  }
  Json metrics = Json::array();
  for (const MetricDeclaration& metric : timeline.declarations().metrics) {
    metrics.push_back({{"id", metric.id.value()},
                       {"process", metric.process.value()},
                       {"name", metric.name},
                       {"unit", metric.unit},
                       {"kind", name_of(metric.kind)},
                       {"source", metric.source},
                       {"step", metric.step},
                       {"renewal_ns", metric.renewal_ns},
                       {"renewal_is_measured", has_trait(metric, MetricDeclaration::renewal_measured)},
                       {"window_ns", metric.window_ns},
                       {"is_estimated", has_trait(metric, MetricDeclaration::estimated)},
                       {"is_total", has_trait(metric, MetricDeclaration::total)},
                       {"labels", labels_json(metric.labels)}});
  }
  Json streams = Json::array();
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    streams.push_back({{"id", stream.id.value()}, {"process", stream.process.value()}, {"name", stream.name}});
  }
  Json open_spans = Json::array();
  for (const Span& span : open.spans) {
    open_spans.push_back({{"track", span.track.value()},
                          {"name", timeline.name_of(span)},
                          {"depth", span.depth},
                          {"start_ns", span.start_ns},
                          {"duration_ns", span.duration_ns}});
  }
  const TimeRange range = timeline.range();
  print_json({{"captures", std::move(captures)},
              {"start_ns", range.start_ns},
              {"end_ns", range.end_ns},
              {"processes", std::move(processes)},
              {"tracks", std::move(tracks)},
              {"metrics", std::move(metrics)},
              {"frame_streams", std::move(streams)},
              {"site_count", timeline.declarations().sites.size()},
              {"open_spans", std::move(open_spans)},
              {"warnings", warnings.texts}});
}

void print_capture(const CaptureReader& capture) {
  const CaptureHeader& header = capture.header();
  fmt::print("{}\n", printable(capture.path()));
  const capture::WriterState::Kind writer = capture::find_writer(capture).kind;
  const char* state = capture.is_closed()                            ? "closed"
                      : writer == capture::WriterState::Kind::living ? "being written"
                      : writer == capture::WriterState::Kind::closed ? "closed while it was read"
                                                                     : "not closed";
  std::string blocks;
  for (const auto& [kind, totals] : count_blocks(capture)) {
    blocks += fmt::format("{}{} {} ({})", blocks.empty() ? "" : ", ", format_count(totals.count), kind,
                          format_bytes(totals.bytes));
  }
  fmt::print("  size      {}, {}\n", format_bytes(capture.size_bytes()), state);
  if (!header.recorder.empty()) {
    fmt::print("  recorder  {}, clock {} in steps of {}\n", printable(header.recorder), printable(header.clock_source),
               format_duration(header.clock_step_ns));
  }
  fmt::print("  blocks    {}\n", blocks);
  std::string facts;
  for (const auto& [key, value] : capture.end().facts) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", printable(key), format_fact(key, std::to_string(value)));
  }
  if (!facts.empty()) {
    fmt::print("  closing   {}\n", facts);
  }
}

void print_process(const TimelineProcess& process) {
  const ProcessDeclaration& declared = process.declaration;
  fmt::print("\nprocess {}{}{}\n", declared.pid, declared.host.empty() ? "" : " on " + printable(declared.host),
             declared.rank.empty() ? "" : ", rank " + printable(declared.rank));
  std::size_t width = 7;
  for (const auto& [key, value] : process.infos) {
    width = std::max(width, width_of(printable(key)));
  }
  fmt::print("  {:<{}}  {}\n", "command", width, printable(declared.command_line, 200));
  for (const auto& [key, value] : process.infos) {
    fmt::print("  {:<{}}  {}\n", printable(key), width, format_fact(key, value));
  }
}

void print_tables(const Timeline& timeline, const std::vector<TrackTotals>& totals) {
  const bool has_several = timeline.processes().size() > 1;
  const auto process_of = [&](ProcessId id) {
    return has_several ? std::to_string(timeline.process(id).declaration.pid) : std::string();
  };
  Table tracks({{"track", Align::left},
                {"kind", Align::left},
                {"process"},
                {"thread id"},
                {"scopes"},
                {"dropped"},
                {"other drops"}});
  auto track_totals = by_track(totals);
  const auto if_any = [](std::uint64_t count) { return count == 0 ? std::string() : format_count(count); };
  for (const TrackDeclaration& track : timeline.tracks()) {
    const TrackTotals& of_track = track_totals[track.id];
    tracks.add(
        {printable(track.name.empty() ? "(unnamed)" : track.name, 48), std::string(name_of(track.kind, track.role)),
         process_of(track.process), track.os_thread_id == 0 ? "" : std::to_string(track.os_thread_id),
         format_count(of_track.recorded_scopes), if_any(of_track.dropped_scopes), if_any(of_track.dropped_others)});
  }
  for (const TrackTotals& track : undeclared_of(timeline, totals)) {
    tracks.add({name_of_undeclared(track), "", "", "", format_count(track.recorded_scopes),
                if_any(track.dropped_scopes), if_any(track.dropped_others)});
  }
  tracks.print_below();
  const auto if_known = [](std::int64_t duration_ns) {
    return duration_ns == 0 ? std::string() : format_duration(static_cast<double>(duration_ns));
  };
  Table metrics({{"metric", Align::left},
                 {"labels", Align::left},
                 {"unit", Align::left},
                 {"step"},
                 {"renewed"},
                 {"over"},
                 {"", Align::left},
                 {"process"},
                 {"source", Align::left}});
  for (const MetricDeclaration& metric : timeline.declarations().metrics) {
    metrics.add({printable(metric.name, 48), format_labels(metric), printable(metric.unit, 12),
                 metric.step == 0 ? "" : format_value(metric.step), if_known(metric.renewal_ns),
                 if_known(metric.window_ns), format_traits(metric), process_of(metric.process),
                 printable(metric.source, 64)});
  }
  metrics.print_below();
  Table streams({{"frame stream", Align::left}, {"process"}});
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    streams.add({stream.name.empty() ? "(main)" : printable(stream.name, 48), process_of(stream.process)});
  }
  streams.print_below();
}

void print_open(const Timeline& timeline, const SpanList& open) {
  Table table({{"open at the end", Align::left}, {"track", Align::left}, {"for"}});
  for (const Span& span : open.spans) {
    table.add(
        {std::string(2 * std::size_t{span.depth > 20 ? 20U : span.depth}, ' ') + printable(timeline.name_of(span), 48),
         printable(timeline.track(span.track).name, 32), format_duration(static_cast<double>(span.duration_ns))});
  }
  table.print_below();
}

void print_as_text(const Timeline& timeline, const std::vector<TrackTotals>& totals, const SpanList& open) {
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    print_capture(timeline.capture(i));
  }
  std::uint64_t scopes = 0;
  for (const TrackTotals& track : totals) {
    scopes += track.recorded_scopes;
  }
  fmt::print("  content   {} of {} on {} in {}\n", format_plural(scopes, "scope"),
             format_plural(timeline.declarations().sites.size(), "site"),
             format_plural(timeline.tracks().size(), "track"), format_duration(length_ns(timeline.range())));
  for (const TimelineProcess& process : timeline.processes()) {
    print_process(process);
  }
  print_tables(timeline, totals);
  print_open(timeline, open);
}

/// Reads every block of every capture, so that the readers know of all damage.
void check(const Timeline& timeline) {
  Progress progress("checking");
  std::uint64_t bytes = 0;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    bytes += timeline.capture(i).size_bytes();
  }
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    const CaptureReader& capture = timeline.capture(i);
    EventBatch batch;
    BlockPayload payload;
    for (const BlockInfo& block : capture.blocks()) {
      static_cast<void>(block.kind == BlockKind::events ? capture.read(block, batch)
                                                        : capture.read_payload(block, payload));
      done += block.stored_bytes;
      progress.update(static_cast<double>(done) / static_cast<double>(bytes));
    }
  }
}

int run(const InfoOptions& options) {
  const Timeline timeline = open_timeline(options.captures);
  const std::vector<TrackTotals> totals = timeline.totals();
  const SpanList open = timeline.open_spans();
  if (options.is_checked) {
    check(timeline);
  }
  const Warnings warnings = find_warnings(timeline, drops_of(totals));
  if (options.is_json) {
    print_as_json(timeline, totals, open, warnings);
  } else {
    warnings.print();
    print_as_text(timeline, totals, open);
  }
  return warnings.exit_code();
}

}  // namespace

void add_info_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<InfoOptions>();
  CLI::App* const command = app.add_subcommand("info", "Shows what captures hold: the run, processes, tracks, metrics");
  add_capture_arguments(*command, options->captures);
  command->add_flag("--check", options->is_checked, "Read every block, so that all damage is found");
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  kymo info run.kymo\n"
      "  kymo info --check run.kymo\n"
      "  kymo info --json captures/ | jq '.tracks[] | {name, recorded_scopes, dropped_scopes}'");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
