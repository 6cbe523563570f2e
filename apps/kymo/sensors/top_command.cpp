// kymo top: shows live metrics of this machine or of growing captures.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <kymo/sampler.hpp>

#include "apps/kymo/sensors/terminal.hpp"
#include "apps/kymo/sensors/top_screen.hpp"
#include "apps/kymo/sensors/top_source.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/flush_output.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;

struct TopOptions {
  std::vector<std::string> paths;
  SensorOptions sensors;
  double interval_s = 1;
  std::uint64_t count = 0;  ///< 0: runs until ended, or once if the output is not a terminal
  bool is_once = false;
  bool is_json = false;
};

/// Colours are for terminals, and for users who have not set NO_COLOR (no-color.org).
bool wants_colour() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::strcmp(terminal, "dumb") != 0;
}

/// Takes a key while the filter is typed.
void type(TopView& view, const Terminal::Key& key) {
  switch (key.kind) {
    case Terminal::Key::Kind::escape:
      view.filter.clear();
      view.is_typing = false;
      break;
    case Terminal::Key::Kind::enter:
      view.is_typing = false;
      break;
    case Terminal::Key::Kind::erase:
      if (!view.filter.empty()) {
        view.filter.pop_back();
      }
      break;
    case Terminal::Key::Kind::character:
      if (constexpr std::size_t most = 60; view.filter.size() < most) {
        view.filter += key.character;
      }
      break;
    default:
      break;
  }
  view.scroll = 0;
}

void scroll(TopView& view, std::ptrdiff_t lines) {
  const auto by = static_cast<std::size_t>(lines < 0 ? -lines : lines);
  view.scroll = lines < 0 ? view.scroll - std::min(view.scroll, by) : view.scroll + by;
}

/// Takes a character that is a command. Returns whether it ends the display.
bool obey(TopView& view, char character) {
  constexpr std::size_t far_down = 1'000'000;  // the layout stops at the last line
  switch (character) {
    case 'q':
    case 'Q':
    case '\x03':
    case '\x04':
      return true;
    case 'k':
      scroll(view, -1);
      break;
    case 'j':
      scroll(view, 1);
      break;
    case ' ':
      scroll(view, static_cast<std::ptrdiff_t>(view.rows) - 2);
      break;
    case 'g':
      view.scroll = 0;
      break;
    case 'G':
      view.scroll = far_down;
      break;
    case '/':
      view.is_typing = true;
      view.shows_help = false;
      break;
    case '?':
    case 'h':
      view.shows_help = !view.shows_help;
      view.scroll = 0;
      break;
    case 'c':
      view.folds_constants = !view.folds_constants;
      break;
    default:
      break;
  }
  return false;
}

/// Takes a key. Returns whether it ends the display.
bool take(TopView& view, const Terminal::Key& key) {
  using Kind = Terminal::Key::Kind;
  if (key.kind == Kind::quit) {
    return true;
  }
  if (view.is_typing) {
    type(view, key);
    return false;
  }
  const auto page = static_cast<std::ptrdiff_t>(view.rows) - 2;
  switch (key.kind) {
    case Kind::escape:
      if (!view.shows_help && view.filter.empty()) {
        return true;
      }
      view.shows_help = false;
      view.filter.clear();
      break;
    case Kind::up:
      scroll(view, -1);
      break;
    case Kind::down:
      scroll(view, 1);
      break;
    case Kind::page_up:
      scroll(view, -std::max<std::ptrdiff_t>(page, 1));
      break;
    case Kind::page_down:
      scroll(view, std::max<std::ptrdiff_t>(page, 1));
      break;
    case Kind::home:
      return obey(view, 'g');
    case Kind::end:
      return obey(view, 'G');
    case Kind::character:
      return obey(view, key.character);
    default:
      break;
  }
  return false;
}

void watch(TopSource& source, const TopOptions& options) {
  Terminal terminal;
  const auto interval = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(options.interval_s));
  TopView view;
  view.has_colour = wants_colour();
  for (std::uint64_t shown = 0; options.count == 0 || shown < options.count; ++shown) {
    const auto next = std::chrono::steady_clock::now() + interval;
    source.update();
    const TopData data = source.data();
    for (auto now = std::chrono::steady_clock::now(); now < next; now = std::chrono::steady_clock::now()) {
      const Terminal::Size size = Terminal::size();
      view.columns = static_cast<std::size_t>(size.columns);
      view.rows = static_cast<std::size_t>(size.rows);
      terminal.draw(top_screen(data, view));
      if (take(view, terminal.wait(std::chrono::ceil<std::chrono::milliseconds>(next - now)))) {
        return;
      }
    }
  }
}

Json to_json(const TopData& data) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json metrics = Json::array();
  for (const LiveRow* const row : data.rows) {
    metrics.push_back({{"name", row->name()},
                       {"labels", labels_json(row->metric().labels)},
                       {"unit", row->unit()},
                       {"value", number(row->latest())},
                       {"least", number(row->min())},
                       {"most", number(row->max())},
                       {"is_stale", row->is_stale()}});
  }
  Json processes = Json::array();
  for (const TopProcess& process : data.processes) {
    processes.push_back({{"pid", process.pid},
                         {"name", process.name},
                         {"cpu_percent", process.cpu_percent},
                         {"resident_bytes", process.resident_bytes}});
  }
  Json gpu_processes = Json::array();
  for (const TopGpuProcess& process : data.gpu_processes) {
    gpu_processes.push_back({{"gpu", process.gpu},
                             {"pid", process.pid},
                             {"name", process.name},
                             {"percent", process.percent ? Json(*process.percent) : Json()},
                             {"bytes", process.is_memory_known ? Json(process.bytes) : Json()}});
  }
  return {{"metrics", std::move(metrics)},
          {"processes", std::move(processes)},
          {"gpu_processes", std::move(gpu_processes)}};
}

void print(TopSource& source, const TopOptions& options) {
  // Rates need two reads.
  source.update();
  TopView view;
  view.has_colour = wants_colour();
  constexpr std::size_t columns_of_pipes = 100;
  view.columns = ::isatty(STDOUT_FILENO) == 1 ? static_cast<std::size_t>(Terminal::size().columns) : columns_of_pipes;
  for (std::uint64_t shown = 0; shown < std::max<std::uint64_t>(options.count, 1); ++shown) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
    source.update();
    if (options.is_json) {
      print_json(to_json(source.data()));
    } else {
      fmt::print("{}{}\n", shown == 0 ? "" : "\n", fmt::join(top_body(source.data(), view), "\n"));
    }
    flush_output();
  }
}

int run(const TopOptions& options) {
  const std::unique_ptr<TopSource> source =
      options.paths.empty() ? make_machine_source(options.sensors) : make_capture_source(options.paths);
  if (Terminal::is_there() && !options.is_once && !options.is_json) {
    // Without a look for damage, which takes a pass over the files.
    watch(*source, options);
    return to_int(ExitCode::ok);
  }
  print(*source, options);
  const Warnings warnings = source->unread();
  warnings.print();
  return warnings.exit_code();
}

}  // namespace

void add_top_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<TopOptions>();
  CLI::App* const command =
      app.add_subcommand("top", "Shows live metrics of this machine, or of captures while they grow");
  command->add_option("CAPTURE", options->paths, "Captures or directories of captures; none: this machine");
  command->add_option("-i,--interval", options->interval_s, "Seconds between two looks (1)")
      ->option_text("SECONDS")
      ->check(is_between(0.05, 3600.0));
  command->add_option("-n,--count", options->count, "End after so many looks; without a terminal 1 is the default")
      ->option_text("N")
      ->check(is_count());
  command->add_flag("--once", options->is_once, "Print one look and end, on a terminal too");
  command->add_flag("--json", options->is_json, "Print JSON, an object a look");
  add_sensor_arguments(*command, options->sensors);
  command->footer(
      "Keys: arrows, PgUp, PgDn, Home and End scroll, / filters by name, c shows what is constant, ? helps, q ends.\n"
      "Of several processes, such as the ranks of a job that record into one directory, each has one row.\n"
      "NO_COLOR turns colours off.\n\n"
      "Examples:\n"
      "  kymo top\n"
      "  kymo top --sensors cpu,memory -i 0.2\n"
      "  kymo top captures/\n"
      "  kymo top --once --json | jq '.processes[0]'");
  command->callback([options, &exit_code] { exit_code = run_checked([&] { return run(*options); }); });
}

}  // namespace kymo::command
