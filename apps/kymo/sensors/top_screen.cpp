#include "apps/kymo/sensors/top_screen.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

namespace {

enum class Colour { heading, quiet, low, middle, high };

std::string painted(const std::string& text, Colour colour, const TopView& view) {
  constexpr std::array codes{"\033[1;36m", "\033[2m", "\033[32m", "\033[33m", "\033[31m"};
  return view.has_colour && !text.empty() ? codes[static_cast<std::size_t>(colour)] + text + "\033[0m" : text;
}

/// Padded or cut in the middle to exactly so many columns. The text is printable.
std::string fitted(const std::string& text, std::size_t width, bool is_right = false) {
  const std::size_t used = width_of(text);
  if (used <= width) {
    const std::string blanks(width - used, ' ');
    return is_right ? blanks + text : text + blanks;
  }
  if (width < 2) {
    return std::string(width, '.');
  }
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_start(text[i])) {
      starts.push_back(i);
    }
  }
  const std::size_t head = width / 2;
  const std::size_t tail = width - head - 1;
  return text.substr(0, starts[head]) + "…" + (tail == 0 ? "" : text.substr(starts[starts.size() - tail]));
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.substr(0, beginning.size()) == beginning; });
}

constexpr std::array<const char*, 11> headings{"Program",   "Power", "GPU",     "CPU",         "Memory",
                                               "Processes", "Disks", "Network", "Temperature", "Waiting and limits",
                                               "Other"};
enum class Group : std::size_t { program, power, gpu, cpu, memory, processes, disks, network, heat, limits, other };

Group group_of(const LiveRow& row) {
  const std::string& name = row.name();
  if (!row.is_sampled()) {
    return Group::program;
  }
  if (row.unit() == "W" || row.unit() == "J" || row.unit() == "V" || row.unit() == "A") {
    return Group::power;
  }
  const std::array<std::pair<Group, bool>, 8> known{{
      {Group::gpu, starts_with_any(name, {"gpu", "pcie", "nvlink", "emc", "nvenc", "nvdec", "vic", "ofa", "dla"})},
      {Group::limits, starts_with_any(name, {"pressure", "cgroup"})},
      {Group::cpu, starts_with_any(name, {"cpu", "load", "tasks", "context_switches"})},
      {Group::memory, starts_with_any(name, {"memory", "swap", "page", "major_faults"})},
      {Group::processes, starts_with_any(name, {"process", "thread"})},
      {Group::disks, starts_with_any(name, {"disk"})},
      {Group::network, starts_with_any(name, {"network"})},
      {Group::heat, starts_with_any(name, {"temperature", "fan"})},
  }};
  const auto* const found = std::find_if(known.begin(), known.end(), [](const auto& entry) { return entry.second; });
  return found != known.end() ? found->first : Group::other;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool passes(const std::string& name, const TopView& view) {
  return view.filter.empty() || lower(name).find(lower(view.filter)) != std::string::npos;
}

bool is_core_load(const LiveRow& row) {
  return row.unit() == "%" && !row.core().empty();
}

/// Loads and power are shown though they do not change.
bool is_foldable(const LiveRow& row, Group group) {
  return row.is_constant() && group != Group::program && row.unit() != "W" &&
         !(row.unit() == "%" && (group == Group::gpu || group == Group::cpu) &&
           (row.latest() != 0 || row.name() == "gpu_util"));
}

Colour colour_of(double percent) {
  return percent < 50 ? Colour::low : percent < 85 ? Colour::middle : Colour::high;
}

/// A bar of whole and partial blocks.
std::string bar_of(double share, std::size_t width) {
  constexpr std::array<const char*, 8> parts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  const auto whole = static_cast<std::size_t>(filled);
  const auto eighths = static_cast<std::size_t>((filled - static_cast<double>(whole)) * 8);
  std::string bar;
  for (std::size_t i = 0; i < whole; ++i) {
    bar += "█";
  }
  const bool has_part = whole < width && eighths > 0;
  bar += has_part ? parts[eighths] : "";
  return bar + std::string(width - whole - (has_part ? 1 : 0), ' ');
}

/// A meter a core, as many beside each other as fit.
void add_meters(const std::vector<const LiveRow*>& cores, const TopView& view, std::vector<std::string>& lines) {
  std::size_t label = 1;
  for (const LiveRow* row : cores) {
    label = std::max(label, std::min<std::size_t>(width_of(row->core()), 6));
  }
  constexpr std::size_t number = 6;
  const std::size_t least = label + number + 10;
  const std::size_t across =
      std::clamp<std::size_t>((view.columns + 2) / (least + 2), 1, std::max<std::size_t>(cores.size(), 1));
  const std::size_t cell = std::min<std::size_t>((view.columns + 2) / across - 2, 40);
  const std::size_t bar = cell > label + number + 3 ? cell - label - number - 3 : 1;
  std::string line;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const double percent = cores[i]->latest();
    const std::string text = std::isnan(percent) ? "-" : fmt::format("{:.0f} %", percent);
    line += fitted(cores[i]->core(), label, true) + " ▕" +
            painted(bar_of(std::isnan(percent) ? 0 : percent / 100, bar), colour_of(percent), view) + "▏" +
            fitted(text, number, true);
    if ((i + 1) % across == 0 || i + 1 == cores.size()) {
      lines.push_back(std::exchange(line, {}));
    } else {
      line += "  ";
    }
  }
}

/// A meter for each amount of which the whole is known: memory_used of memory_total, gpu_mem of gpu_mem_total.
void add_share_meters(const std::vector<const LiveRow*>& rows, const TopView& view, std::vector<std::string>& lines) {
  constexpr std::string_view ending = "_total";
  for (const LiveRow* const whole : rows) {
    const std::string& name = whole->name();
    if (name.size() <= ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0) {
      continue;
    }
    const std::string what = name.substr(0, name.size() - ending.size());
    const auto part = std::find_if(rows.begin(), rows.end(), [&](const LiveRow* row) {
      return (row->name() == what || row->name() == what + "_used") && row->metric().labels == whole->metric().labels;
    });
    const double share = part != rows.end() ? (*part)->latest() / whole->latest() : std::nan("");
    if (!std::isfinite(share)) {
      continue;
    }
    const std::string text =
        fmt::format("▏{:4.0f} % of {}", 100 * share, format_quantity(whole->latest(), whole->unit()));
    const std::size_t used = width_of((*part)->title()) + 2 + width_of(text);
    constexpr std::size_t longest_bar = 40;
    constexpr std::size_t least_bar = 4;
    if (used + least_bar <= view.columns) {
      lines.push_back((*part)->title() + " ▕" +
                      painted(bar_of(share, std::min(view.columns - used, longest_bar)), colour_of(100 * share), view) +
                      text);
    }
  }
}

/// Whether its source gives its growth as a metric of its own.
bool is_told_as_rate(const LiveRow& row, const std::vector<const LiveRow*>& rows) {
  return row.metric().kind != MetricKind::gauge && std::any_of(rows.begin(), rows.end(), [&row](const LiveRow* other) {
           return other->metric().kind == MetricKind::gauge && other->unit() == row.unit() &&
                  other->metric().source == row.metric().source && other->metric().labels == row.metric().labels;
         });
}

/// The widths of a row's columns.
struct Columns {
  std::size_t title = 0;
  std::size_t number = 0;
  bool has_extremes = false;
  std::size_t spark = 0;

  Columns(const TopData& data, std::size_t columns) {
    number = columns >= 60 ? 12 : 10;
    has_extremes = columns >= 72;
    const std::size_t numbers = (has_extremes ? 3 : 1) * (number + 1) + 3;
    const std::size_t least_spark = columns >= 60 ? 10 : 6;
    std::size_t longest = 8;
    for (const LiveRow* row : data.rows) {
      longest = std::max(longest, width_of(row->title()));
    }
    const std::size_t room = columns > numbers + least_spark + 8 ? columns - numbers - least_spark : 8;
    title = std::min(longest, room);
    spark = std::min<std::size_t>(columns > title + numbers ? columns - title - numbers : 1, 100);
  }
};

std::string row_line(const LiveRow& row, const Columns& columns, const TopView& view) {
  const auto number = [&](double value) {
    return " " + fitted(format_quantity(value, row.unit()), columns.number, true);
  };
  std::string line = fitted(row.title(), columns.title) + number(row.latest());
  if (columns.has_extremes) {
    line += painted(number(row.min()) + number(row.max()), Colour::quiet, view);
  }
  const bool is_load = row.unit() == "%" && std::isfinite(row.latest());
  const std::string spark = row.sparkline(columns.spark);
  return line + (row.is_stale() ? " ~ " : "   ") +
         painted(spark, is_load ? colour_of(row.latest()) : Colour::low, view);
}

std::string constants_line(const std::vector<const LiveRow*>& rows, const TopView& view) {
  std::string line = fmt::format("{} constant: ", rows.size());
  bool is_first = true;
  for (const LiveRow* row : rows) {
    const std::string next =
        fmt::format("{}{} {}", is_first ? "" : ", ", row->title(), format_quantity(row->latest(), row->unit()));
    if (width_of(line) + width_of(next) + (row == rows.back() ? 0 : 3) > view.columns) {
      line += "…";
      break;
    }
    line += next;
    is_first = false;
  }
  return painted(line, Colour::quiet, view);
}

/// What each core has beside its load, such as its clock, in a line a metric.
void add_core_ranges(const std::vector<const LiveRow*>& rows, const TopView& view, std::vector<std::string>& lines) {
  std::map<std::string, std::vector<const LiveRow*>> by_name;
  for (const LiveRow* row : rows) {
    by_name[row->name()].push_back(row);
  }
  for (const auto& [name, cores] : by_name) {
    const auto [least, most] = std::minmax_element(
        cores.begin(), cores.end(), [](const LiveRow* a, const LiveRow* b) { return a->latest() < b->latest(); });
    const std::string line = fmt::format("{} of {}: {} to {}", printable(name), format_plural(cores.size(), "core"),
                                         format_quantity((*least)->latest(), (*least)->unit()),
                                         format_quantity((*most)->latest(), (*most)->unit()));
    lines.push_back(fitted(line, std::min(width_of(line), view.columns)));
  }
}

void add_heading(const std::string& heading, const TopView& view, std::vector<std::string>& lines) {
  lines.push_back(painted(fitted(heading, std::min(width_of(heading), view.columns)), Colour::heading, view));
}

constexpr auto no_group = static_cast<Group>(headings.size());

/// The groups from `begin` on, up to before `end`.
void add_rows(const TopData& data, const TopView& view, Group begin, Group end, std::vector<std::string>& lines) {
  std::array<std::vector<const LiveRow*>, headings.size()> groups;
  for (const LiveRow* row : data.rows) {
    if (passes(row->title(), view)) {
      groups[static_cast<std::size_t>(group_of(*row))].push_back(row);
    }
  }
  const Columns columns(data, view.columns);
  bool is_first = begin == Group{};
  for (auto group = static_cast<std::size_t>(begin); group < static_cast<std::size_t>(end); ++group) {
    if (groups[group].empty()) {
      continue;
    }
    add_heading(headings[group], view, lines);
    if (std::exchange(is_first, false) && columns.has_extremes && width_of(headings[group]) < columns.title) {
      std::string names(columns.title - width_of(headings[group]), ' ');
      for (const char* const name : {"now", "least", "most"}) {
        names += " " + fitted(name, columns.number, true);
      }
      lines.back() += painted(names, Colour::quiet, view);
    }
    add_share_meters(groups[group], view, lines);
    std::vector<const LiveRow*> cores;
    std::vector<const LiveRow*> core_others;
    std::vector<const LiveRow*> constants;
    for (const LiveRow* row : groups[group]) {
      if (view.filter.empty() && is_told_as_rate(*row, groups[group])) {
        continue;
      }
      if (is_core_load(*row)) {
        cores.push_back(row);
      } else if (!row->core().empty()) {
        core_others.push_back(row);
      } else if (view.folds_constants && view.filter.empty() && is_foldable(*row, static_cast<Group>(group))) {
        constants.push_back(row);
      } else {
        lines.push_back(row_line(*row, columns, view));
      }
    }
    add_meters(cores, view, lines);
    add_core_ranges(core_others, view, lines);
    if (!constants.empty()) {
      lines.push_back(constants_line(constants, view));
    }
  }
}

std::vector<std::string> process_lines(const TopData& data, const TopView& view, std::size_t most) {
  std::vector<std::string> lines;
  if (std::any_of(data.gpu_processes.begin(), data.gpu_processes.end(),
                  [&](const TopGpuProcess& process) { return passes(process.name, view); })) {
    add_heading("GPU processes: PID, share, memory", view, lines);
    for (const TopGpuProcess& process : data.gpu_processes) {
      if (passes(process.name, view)) {
        const std::string name = process.name.empty() ? "(of another container)" : printable(process.name);
        const std::string share = process.percent ? fmt::format("{:.0f} %", *process.percent) : "-";
        const std::string memory = process.is_memory_known ? format_bytes(process.bytes) : "-";
        lines.push_back(
            fitted(fmt::format("GPU {:<2}{:>8} {:>6} {:>10}  {}", process.gpu, process.pid, share, memory, name),
                   view.columns));
      }
    }
  }
  std::size_t shown = 0;
  for (const TopProcess& process : data.processes) {
    if (!passes(process.name, view) || shown == most) {
      continue;
    }
    if (shown++ == 0) {
      add_heading("     PID     CPU     memory  by CPU", view, lines);
    }
    lines.push_back(
        fitted(fmt::format("{:>8} {:>7} {:>10}  {}", process.pid, fmt::format("{:.1f} %", process.cpu_percent),
                           format_bytes(process.resident_bytes), printable(process.name)),
               view.columns));
  }
  return lines;
}

constexpr std::array help_lines{"up, down, k, j       one line",
                                "PgUp, PgDn, space    one page",
                                "Home, End, g, G      first, last",
                                "/                    filter by name; Enter keeps, Esc clears",
                                "c                    fold or show what is constant",
                                "?                    this help",
                                "q, Esc, Ctrl-C       end",
                                "~                    the source has made no new value"};

std::string title_line(const TopData& data, const TopView& view) {
  std::string keys = view.is_typing         ? "/" + printable(view.filter) + "_"
                     : !view.filter.empty() ? "/" + printable(view.filter)
                                            : "q end  / filter  ? help";
  const std::size_t room = view.columns > width_of(keys) + 2 ? view.columns - width_of(keys) - 2 : 0;
  const std::string title = fitted(data.title, room);
  return room == 0 ? fitted(keys, view.columns) : painted(title, Colour::heading, view) + "  " + keys;
}

/// The columns that a line takes, without its SGR sequences.
std::size_t shown_width(const std::string& line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      i = line.find('m', i);
    } else {
      plain += line[i];
    }
  }
  return width_of(plain);
}

/// The widths of the columns that there is something in and room for; 0: left out.
std::array<std::size_t, TopRecorded::cell_count> recorded_widths(const TopData& data, std::size_t room) {
  std::array<std::size_t, TopRecorded::cell_count> widths{};
  for (const TopRecorded& row : data.recorded) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row.cells[i]));
    }
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = widths[i] == 0 ? 0 : std::max(widths[i], width_of(recorded_columns[i].title));
    used += widths[i] == 0 ? 0 : widths[i] + 2;
  }
  while (used > room) {
    std::size_t next = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool goes_first =
          widths[i] != 0 && (next == widths.size() || recorded_columns[i].rank > recorded_columns[next].rank);
      next = goes_first ? i : next;
    }
    if (next == widths.size() || recorded_columns[next].rank == 0) {
      break;
    }
    used -= std::exchange(widths[next], 0) + 2;
  }
  return widths;
}

/// A line for each recorded process, with the past of its frames, else of its CPU, where there is room.
void add_recorded(const TopData& data, const TopView& view, std::vector<std::string>& lines) {
  if (data.recorded.empty()) {
    return;
  }
  const std::array widths = recorded_widths(data, view.columns);
  const auto line_of = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += widths[i] == 0 ? "" : fitted(cell_of(i), widths[i], !recorded_columns[i].is_text) + "  ";
    }
    return line;
  };
  const std::string titles = line_of([](std::size_t i) { return std::string(recorded_columns[i].title); });
  lines.push_back(painted(fitted(titles, std::min(width_of(titles), view.columns)), Colour::heading, view));
  constexpr std::size_t longest_spark = 60;
  for (const TopRecorded& row : data.recorded) {
    std::string line =
        line_of([&row](std::size_t i) { return row.cells[i].empty() ? std::string("-") : row.cells[i]; });
    line = fitted(line, std::min(width_of(line), view.columns));
    const std::size_t room = std::min(view.columns - width_of(line), longest_spark);
    line += row.drawn != nullptr && room > 0 ? painted(row.drawn->sparkline(room), Colour::low, view) : std::string();
    lines.push_back(std::move(line));
  }
}

/// From this width on, processes are beside the metrics.
constexpr std::size_t two_parts = 120;
constexpr std::size_t processes_width = 44;
constexpr std::size_t most_processes = 20;

}  // namespace

std::vector<std::string> top_body(const TopData& data, const TopView& view) {
  std::vector<std::string> lines;
  const bool has_processes = !data.processes.empty() || !data.gpu_processes.empty();
  if (!has_processes || view.columns < two_parts) {
    add_recorded(data, view, lines);
    add_rows(data, view, Group{}, Group::processes, lines);
    // As many as leave the first screen room for what is above them.
    const std::vector<std::string> processes = process_lines(
        data, view, std::clamp<std::size_t>(view.rows == 0 ? most_processes : view.rows / 4, 4, most_processes));
    lines.insert(lines.end(), processes.begin(), processes.end());
    add_rows(data, view, Group::processes, no_group, lines);
    return lines;
  }
  TopView left = view;
  left.columns = view.columns - processes_width - 2;
  add_recorded(data, left, lines);
  add_rows(data, left, Group{}, no_group, lines);
  TopView right = view;
  right.columns = processes_width;
  const std::vector<std::string> processes =
      process_lines(data, right, std::max<std::size_t>(lines.size(), most_processes));
  lines.resize(std::max(lines.size(), processes.size()));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::size_t used = shown_width(lines[i]);
    lines[i] += std::string(left.columns + 2 - std::min(used, left.columns), ' ') + processes[i];
  }
  return lines;
}

std::vector<std::string> top_screen(const TopData& data, TopView& view) {
  std::vector<std::string> body;
  if (view.shows_help) {
    for (const char* const line : help_lines) {
      body.push_back(std::string(line).substr(0, view.columns));
    }
  } else {
    body = top_body(data, view);
  }
  if (body.empty()) {
    body.push_back(fitted(view.filter.empty() ? "nothing to show yet" : "nothing has this in its name", view.columns));
  }
  const std::size_t room = view.rows == 0 ? body.size() : view.rows - std::min<std::size_t>(view.rows, 1);
  view.scroll = std::min(view.scroll, body.size() - std::min(body.size(), room));
  std::vector<std::string> lines{title_line(data, view)};
  const std::size_t end = std::min(body.size(), view.scroll + room);
  for (std::size_t i = view.scroll; i < end; ++i) {
    lines.push_back(std::move(body[i]));
  }
  return lines;
}

}  // namespace kymo::command
