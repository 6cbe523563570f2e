// Imports a Chrome trace into a capture: reads events, turns them into records, sorts these by time and replays them as
// batches.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <kymo/import.hpp>

#include "exchange/chrome/event_reader.hpp"
#include "exchange/chrome/import.hpp"
#include "exchange/import/input.hpp"
#include "exchange/import/losses.hpp"
#include "exchange/import/new_capture.hpp"
#include "exchange/import/record.hpp"
#include "exchange/import/record_sorter.hpp"
#include "exchange/import/replay.hpp"
#include "exchange/import/tables.hpp"
#include "exchange/import/text_hash.hpp"

namespace kymo {
namespace exchange {
namespace {

using Kind = ImportRecord::Kind;

/// Complete spans rank below this, longer ones first, and so come before everything else of the same time.
constexpr std::int64_t rank_of_others = 1;

/// Parses an id such as "0x1f" or "31". Any other text yields its hash.
std::uint64_t parse_id(std::string_view text) {
  const bool is_hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  const std::string_view digits = is_hex ? text.substr(2) : text;
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id, is_hex ? 16 : 10);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number ? id : hash_text(text);
}

/// Whether an event has exactly these arguments, all of them natural numbers.
bool has_integers(const ChromeEvent& event, std::initializer_list<std::string_view> keys) {
  std::size_t i = 0;
  for (const std::string_view key : keys) {
    if (i >= event.arguments.size() || event.arguments[i].key != key ||
        (event.arguments[i].type != ArgumentType::int64 && event.arguments[i].type != ArgumentType::uint64) ||
        static_cast<std::int64_t>(event.arguments[i].bits) < 0) {
      return false;
    }
    ++i;
  }
  return i == event.arguments.size();
}

/// One import. Each event of the trace becomes a few records at most.
class ChromeImport {
 public:
  ChromeImport(const TraceFormat& format, std::string trace, const std::string& capture, const ImportOptions& options)
      : format_(format),
        trace_(std::move(trace)),
        capture_(capture),
        options_(options),
        tables_(losses_),
        sorter_(directory_of(capture), options.memory) {}

  ImportReport run() {
    read_trace();
    sorter_.finish();
    write_capture();
    report_.losses = losses_.list();
    return std::move(report_);
  }

 private:
  static std::string directory_of(const std::string& capture) {
    const std::string directory = std::filesystem::path(capture).parent_path().string();
    return directory.empty() ? "." : directory;
  }

  [[nodiscard]] const std::string& name() const { return options_.name.empty() ? trace_ : options_.name; }

  void read_trace() {
    ImportInput input(trace_, name(), [this](double share) {
      if (options_.on_progress) {
        options_.on_progress(0.7 * share);
      }
    });
    ChromeEvent event;
    try {
      const std::unique_ptr<TraceEventSource> reader = format_.open(input, losses_);
      try {
        while (reader->next(event)) {
          ++events_;
          take(event);
        }
      } catch (const MalformedInput& error) {
        report_.stopped = error.what();
      }
      facts_ = reader->facts();
      base_realtime_ns_ = reader->base_realtime_ns();
      losses_.damage("texts with bytes that are not UTF-8, which were replaced", reader->repaired_texts());
    } catch (const MalformedInput& error) {
      report_.stopped = error.what();
    }
    if (!input.stopped().empty()) {
      report_.stopped = input.stopped();
    }
    if (events_ == 0 && !report_.stopped.empty()) {
      throw ImportError(name() + ": no " + format_.noun + ": " + report_.stopped);
    }
  }

  void write_capture() {
    const NameId category = tables_.name("category");
    Declarations declarations = tables_.take_declarations();
    const ProcessId first = declarations.processes.front().id;
    declarations.infos.push_back({first, "import.format", format_.name});
    declarations.infos.push_back({first, "import.file", name()});
    const auto rank = std::find_if(facts_.begin(), facts_.end(),
                                   [](const auto& fact) { return fact.first == "distributedInfo.rank"; });
    for (ProcessDeclaration& process : declarations.processes) {
      process.rank = rank != facts_.end() ? rank->second : process.rank;
    }
    for (auto& [key, value] : facts_) {
      declarations.infos.push_back({first, std::move(key), std::move(value)});
    }
    // A capture's reader holds the header's declarations in memory.
    Declarations header;
    header.processes = std::exchange(declarations.processes, {});
    header.infos = std::exchange(declarations.infos, {});
    NewCapture writer(capture_, std::move(header));
    report_.output = writer.path();
    ImportReplay replay(std::move(declarations), tables_, category, report_, losses_,
                        [&writer](const EventBatch& batch) { writer.write(batch); });
    replay.set_wall_clock(base_realtime_ns_);
    std::string_view packed;
    for (std::uint64_t done = 0; sorter_.next(packed); ++done) {
      record_.unpack(packed);
      replay.add(record_);
      if (options_.on_progress && done % 65536 == 0) {
        options_.on_progress(0.7 + 0.3 * static_cast<double>(done) / static_cast<double>(records_));
      }
    }
    replay.finish();
    writer.finish();
  }

  void take(const ChromeEvent& event) {
    record_.clear();
    const char phase = event.phase.size() == 1 ? event.phase.front() : '\0';
    switch (phase) {
      case 'X':
        take_complete(event);
        return;
      case 'B':
      case 'E':
        if (has_time(event) && place_scope(event)) {
          record_.head.kind = phase == 'B' ? Kind::begin : Kind::end;
          tables_.mark_nesting(record_.head.track);
          take_arguments(event);
          add();
        }
        return;
      case 'b':
      case 'e':
        take_async(event, phase == 'b' ? Kind::async_begin : Kind::async_end);
        return;
      case 'C':
        take_counter(event);
        return;
      case 'i':
      case 'I':
      case 'R':
        take_instant(event);
        return;
      case 's':
      case 't':
      case 'f':
        take_flow(event, phase == 's' ? FlowPhase::begin : phase == 't' ? FlowPhase::step : FlowPhase::end);
        return;
      case 'M':
        take_metadata(event);
        return;
      case 'S':
      case 'T':
      case 'p':
      case 'F':
        take_old_async(event, phase);
        return;
      case 'n':
        losses_.ignore("instants of async spans (phase n)");
        return;
      case 'N':
      case 'O':
      case 'D':
        losses_.ignore("objects and their states (phases N, O and D)");
        return;
      case 'P':
        losses_.ignore("samples of stacks (phase P)");
        return;
      case '(':
      case ')':
      case 'c':
      case 'v':
      case 'V':
        losses_.ignore("contexts, clocks and memory dumps (phases (, ), c, v and V)");
        return;
      default:
        losses_.damage("events of unknown phase \"" + event.phase.substr(0, 8) + '"');
    }
  }

  void take_complete(const ChromeEvent& event) {
    if (!has_time(event)) {
      return;
    }
    if (event.duration.kind != ChromeTime::Kind::sound) {
      losses_.damage("spans without a duration that makes sense");
      return;
    }
    if (event.duration.ns < 0) {
      losses_.damage("spans with a negative duration");
      return;
    }
    record_.head.duration_ns = event.duration.ns;
    if (event.is_of_queue()) {
      tables_.mark_queue(tables_.thread(event.process, event.thread));
    }
    const bool is_frame = event.category == "frame" && has_integers(event, {"number"});
    if (!place_scope(event)) {
      return;
    }
    if (is_frame) {
      record_.head.kind = Kind::frame;
      record_.head.what = tables_.frames(event.process, event.name).value();
      if (record_.head.what != 0) {
        add();
      }
      return;
    }
    take_arguments(event);
    add(-event.duration.ns);
  }

  void take_async(const ChromeEvent& event, Kind kind) {
    if (!place_async(event)) {
      return;
    }
    record_.head.kind = kind;
    record_.head.what = kind == Kind::async_begin ? tables_.name(event.name).value() : 0;
    take_arguments(event);
    add();
  }

  /// Takes an async event of the form before b and e: S, T, p or F.
  void take_old_async(const ChromeEvent& event, char phase) {
    // Category, name and id identify these spans, so that spans of different names do not nest.
    const bool is_step = phase == 'T' || phase == 'p';
    if (!place_async(event)) {
      return;
    }
    record_.head.kind = is_step ? Kind::async_step : phase == 'S' ? Kind::async_begin : Kind::async_end;
    record_.head.id = hash_text(event.name, record_.head.id ^ text_hash_seed);
    record_.head.detail = phase == 'p' ? 1 : 0;
    std::string_view name = event.name;
    if (is_step && event.arguments.size() != 0 && event.arguments[0].key == "step" &&
        event.arguments[0].type == ArgumentType::string) {
      name = event.arguments[0].text;
    }
    record_.head.what = phase == 'F' ? 0 : tables_.name(name).value();
    take_arguments(event);
    add();
  }

  /// Sets the record's time, lane and id. Returns false if it cannot be placed.
  bool place_async(const ChromeEvent& event) {
    if (!has_time(event)) {
      return false;
    }
    if (event.id.empty()) {
      losses_.damage("async events without an id");
      return false;
    }
    record_.head.track = tables_.lane(event.process, event.category);
    record_.head.id = parse_id(event.id);
    return static_cast<bool>(record_.head.track);
  }

  void take_counter(const ChromeEvent& event) {
    if (!has_time(event)) {
      return;
    }
    // Traces from kymo use the unit as the series.
    const bool is_unit = event.category == "metric";
    std::string name = event.name;
    if (!event.id.empty()) {
      name += '[' + event.id + ']';
    }
    for (std::size_t i = 0; i < event.arguments.size(); ++i) {
      const ChromeArgument argument = event.arguments[i];
      ParsedNumber number{true, argument.type, argument.bits};
      if (argument.type == ArgumentType::string) {
        number = parse_json_number(argument.text);
      }
      if (!number.is_number || argument.type == ArgumentType::boolean) {
        losses_.damage("values of counters that are no numbers");
        continue;
      }
      record_.head.kind = Kind::sample;
      record_.head.what = tables_.metric(event.process, name, argument.key, is_unit).value();
      const double value = number.as_double();
      std::memcpy(&record_.head.id, &value, sizeof value);
      if (record_.head.what != 0) {
        add();
      }
    }
  }

  void take_instant(const ChromeEvent& event) {
    if (!place_point(event)) {
      return;
    }
    // Traces from kymo write these as instants.
    if (event.category == "sync" && has_integers(event, {"number"})) {
      record_.head.kind = Kind::sync_point;
      record_.head.id = event.arguments[0].bits;
      add();
      return;
    }
    if (event.category == "kymo" && event.name == "dropped so far" && has_integers(event, {"scopes", "others"})) {
      record_.head.kind = Kind::dropped;
      record_.head.id = event.arguments[0].bits;
      record_.head.duration_ns = static_cast<std::int64_t>(event.arguments[1].bits);
      add();
      return;
    }
    record_.head.kind = Kind::message;
    record_.text = event.name;
    for (std::size_t i = 0; i < event.arguments.size(); ++i) {
      const ChromeArgument argument = event.arguments[i];
      record_.text.append(i == 0 ? ": " : ", ").append(argument.key) += '=';
      append_argument_text(record_.text, argument);
    }
    add();
  }

  void take_flow(const ChromeEvent& event, FlowPhase phase) {
    if (!place_point(event)) {
      return;
    }
    record_.head.kind = Kind::flow;
    record_.head.detail = static_cast<std::uint8_t>(phase);
    // Flows are identified by category, name and id. The first family keeps its numbers.
    std::string family = event.category + '\0' + event.name;
    constexpr std::size_t most_families = 65536;
    if (flow_families_.size() >= most_families && flow_families_.count(family) == 0) {
      losses_.damage("flows beyond 65,536 kinds");
      return;
    }
    const std::uint64_t number = flow_families_.try_emplace(std::move(family), flow_families_.size()).first->second;
    record_.head.id = parse_id(event.id) ^ (number * 0x9E3779B97F4A7C15U);
    if (event.arguments.size() != 0) {
      losses_.ignore("arguments of flows", event.arguments.size());
    }
    add();
  }

  void take_metadata(const ChromeEvent& event) {
    const bool has_text = event.arguments.size() == 1 && event.arguments[0].type == ArgumentType::string;
    const std::string_view text = has_text ? event.arguments[0].text : std::string_view();
    if (event.name == "process_name" && has_text) {
      tables_.name_process(event.process, text);
    } else if (event.name == "process_labels" && has_text) {
      tables_.label_process(event.process, text);
    } else if (event.name == "thread_name" && has_text) {
      tables_.name_thread(event.process, event.thread, text);
    } else if (event.name != "thread_sort_index" && event.name != "process_sort_index") {
      losses_.ignore("metadata events that a capture has no place for");
    }
  }

  [[nodiscard]] bool has_time(const ChromeEvent& event) {
    switch (event.time.kind) {
      case ChromeTime::Kind::sound:
        record_.head.time_ns = event.time.ns;
        return true;
      case ChromeTime::Kind::missing:
        losses_.damage("events without a time");
        return false;
      case ChromeTime::Kind::unreadable:
        losses_.damage("events whose time is no number");
        return false;
      case ChromeTime::Kind::out_of_range:
        losses_.damage("events more than 146 years from time 0");
        return false;
    }
    return false;
  }

  /// Sets the record's track, site and category. Returns false if there are too many.
  bool place_scope(const ChromeEvent& event) {
    record_.head.track = tables_.thread(event.process, event.thread);
    if (!record_.head.track) {
      return false;
    }
    if (event.phase == "E") {
      return true;
    }
    const bool is_function = event.category == "function";
    record_.head.what =
        tables_.site(tables_.process(event.process), event.name, is_function ? SiteKind::function : SiteKind::scope)
            .value();
    if (!event.category.empty() && !is_function && event.category != "scope") {
      record_.head.category = tables_.category(event.category).value();
    }
    return true;
  }

  /// Sets the record's time and track, for an instant or a flow point. Returns false if it cannot be placed.
  bool place_point(const ChromeEvent& event) {
    if (!has_time(event)) {
      return false;
    }
    record_.head.track =
        event.is_on_lane ? tables_.lane(event.process, event.lane) : tables_.thread(event.process, event.thread);
    return static_cast<bool>(record_.head.track);
  }

  void take_arguments(const ChromeEvent& event) {
    for (std::size_t i = 0; i < event.arguments.size(); ++i) {
      const ChromeArgument argument = event.arguments[i];
      ArgumentValue& value = record_.arguments.emplace_back();
      value.name = tables_.name(argument.key);
      value.type = argument.type;
      value.bits = argument.bits;
      if (argument.type == ArgumentType::string) {
        value.is_cut = argument.is_cut;
        value.bits = record_.text.size();
        value.text_size = static_cast<std::uint32_t>(argument.text.size());
        record_.text += argument.text;
      }
    }
  }

  void add(std::int64_t rank = rank_of_others) {
    record_.pack(packed_);
    sorter_.add({record_.head.time_ns, rank}, packed_);
    ++records_;
  }

  const TraceFormat& format_;
  std::string trace_;
  std::string capture_;
  const ImportOptions& options_;
  ImportLosses losses_;
  ImportTables tables_;
  RecordSorter sorter_;
  ImportRecord record_;
  std::string packed_;
  std::uint64_t records_ = 0;
  std::uint64_t events_ = 0;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::int64_t base_realtime_ns_ = 0;
  std::map<std::string, std::uint64_t> flow_families_;
  ImportReport report_;
};

}  // namespace

ImportReport import_trace(const TraceFormat& format, const std::string& trace, const std::string& capture,
                          const ImportOptions& options) {
  return ChromeImport(format, trace, capture, options).run();
}

}  // namespace exchange

ImportReport import_chrome_trace(const std::string& trace, const std::string& capture, const ImportOptions& options) {
  const exchange::TraceFormat format{
      "chrome", "Chrome trace", [](exchange::ImportInput& input, exchange::ImportLosses& losses) {
        return std::make_unique<exchange::ChromeEventReader>(
            [&input](char* bytes, std::size_t size) { return input.read(bytes, size); }, losses);
      }};
  return exchange::import_trace(format, trace, capture, options);
}

}  // namespace kymo
