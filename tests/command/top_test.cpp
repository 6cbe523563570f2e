// kymo top: the layout of any screen, and what it does with a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "apps/kymo/sensors/top_screen.hpp"
#include "apps/kymo/shared/units.hpp"
#include "base/system/file.hpp"

namespace kymo::test {
namespace {

using command::LiveRow;
using command::TopData;
using command::TopView;

/// Rows that live as long as it does.
class Screen {
 public:
  LiveRow& add(const std::string& name, const std::string& unit, const std::vector<double>& values,
               const std::vector<std::pair<std::string, std::string>>& labels = {}, const std::string& source = "file",
               MetricKind kind = MetricKind::gauge) {
    LiveRow& row = rows_.emplace_back(MetricDeclaration{MetricId{1}, kind, ProcessId{1}, name, unit, source, labels});
    std::int64_t time_ns = 0;
    for (const double value : values) {
      row.add(time_ns += 1'000'000'000, value, false);
    }
    return row;
  }

  /// A machine with all that a machine may have.
  Screen() {
    data.title = "kymo top: this machine";
    add("cpu_util", "%", {10, 20});
    for (int core = 0; core < 12; ++core) {
      add("cpu_util", "%", {5, core * 8.0}, {{"core", std::to_string(core)}});
      add("cpu_clock", "MHz", {1000, 1000.0 + core}, {{"core", std::to_string(core)}});
    }
    add("memory_total", "B", {16e9, 16e9});
    add("memory_used", "B", {1e9, 2e9});
    add("swap_used", "B", {0, 0});
    add("disk_read", "B/s", {1, 2}, {{"disk", "sda"}});
    add("disk_read_bytes", "B", {1, 2, 5}, {{"disk", "sda"}}, "file", MetricKind::counter);
    add("a_name_of_more_than_forty_columns_with_things_in_the_middle_that_matter_less_\u00e4\u00f6\u00fc", "things",
        {1, 2});
    add("gpu_util", "%", {50, 60}, {{"gpu", "0"}, {"uuid", "GPU-1"}});
    add("gpu_power", "W", {100, 100}, {{"gpu", "0"}});
    add("pcie", "B/s", {1, 2}, {{"gpu", "0"}});
    add("loss", "", {3, 2}, {}, "");
    add("gone", "B/s", {3, std::nan("")});
    add("evil\033[31m\n", "B", {1, 2});
    data.processes = {{10, "busy", 150.5, 1'000'000}, {11, "evil\033]0;x\a", 0.5, 500}};
    data.recorded = {{{"0", "4711", "node-with-a-name", "93.1 %", "1.70 GB", "", "", "16.7 ms"}, &rows_.front()},
                     {{"1", "12", "node", "", "20.1 MB", "", "", ""}, nullptr}};
    data.gpu_processes = {{0, 10, "busy", 3'000'000'000, true, 62.4}, {1, 12, "", 0, false}};
  }

  [[nodiscard]] std::vector<std::string> lines(TopView& view) {
    data.rows.clear();
    for (const LiveRow& row : rows_) {
      data.rows.push_back(&row);
    }
    return top_screen(data, view);
  }

  TopData data;

 private:
  std::deque<LiveRow> rows_;
};

std::size_t line_of(const std::vector<std::string>& lines, const std::string& beginning) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.rfind(beginning, 0) == 0; });
  EXPECT_NE(found, lines.end()) << beginning;
  return static_cast<std::size_t>(found - lines.begin());
}

TEST(TopScreen, NoLineIsWiderThanTheTerminalAndNoneHasControlCharacters) {
  Screen screen;
  for (std::size_t columns = 24; columns <= 220; ++columns) {
    for (const bool has_help : {false, true}) {
      TopView view;
      view.columns = columns;
      view.shows_help = has_help;
      view.filter = columns % 7 == 0 ? "U" : "";
      for (const std::string& line : screen.lines(view)) {
        EXPECT_LE(command::width_of(line), columns) << line;
        EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](unsigned char c) { return c >= ' ' && c != 0x7f; }))
            << line;
      }
    }
  }
}

TEST(TopScreen, TheProgramPowerAndGpuComeFirstAndWhatIsConstantIsOneLine) {
  Screen screen;
  TopView view;
  view.columns = 100;
  const std::vector<std::string> lines = screen.lines(view);
  const std::size_t program = line_of(lines, "Program");
  EXPECT_EQ(line_of(lines, "loss"), program + 1);
  const std::size_t power = line_of(lines, "Power");
  EXPECT_EQ(line_of(lines, "gpu_power gpu=0"), power + 1) << "power is shown though it is constant";
  EXPECT_LT(program, power);
  EXPECT_LT(power, line_of(lines, "GPU"));
  EXPECT_LT(line_of(lines, "GPU"), line_of(lines, "pcie gpu=0"));
  EXPECT_LT(line_of(lines, "pcie gpu=0"), line_of(lines, "CPU"));
  EXPECT_LT(line_of(lines, "CPU"), line_of(lines, "Memory"));
  EXPECT_EQ(lines[line_of(lines, "2 constant: ")], "2 constant: memory_total 16 GB, swap_used 0 B");
  EXPECT_EQ(lines[line_of(lines, "memory_used ▕")], "memory_used ▕█████" + std::string(35, ' ') + "▏  12 % of 16 GB");
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.rfind("disk_", 0) == 0; }), 1)
      << "a counter that its source also tells as a rate is not shown twice";
  EXPECT_EQ(lines[line_of(lines, "cpu_clock of ")], "cpu_clock of 12 cores: 1000 MHz to 1011 MHz");
  // A meter a core: 11 of them below the last, which is at 88 %.
  const std::size_t cores = static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const std::string& line) { return line.find("▕") != std::string::npos; }));
  EXPECT_GT(cores, 1U);
  EXPECT_LT(cores, 12U) << "several beside each other";
  EXPECT_LT(line_of(lines, "Memory"), line_of(lines, "GPU processes"));
  EXPECT_LT(line_of(lines, "GPU processes"), line_of(lines, "      10 150.5 %"));
  EXPECT_LT(line_of(lines, "      10 150.5 %"), line_of(lines, "Disks")) << "processes are before what few look at";
  EXPECT_NE(lines[line_of(lines, "GPU 0 ")].find("62 %"), std::string::npos) << lines[line_of(lines, "GPU 0 ")];
  EXPECT_NE(lines[line_of(lines, "GPU 1 ")].find("     -"), std::string::npos) << lines[line_of(lines, "GPU 1 ")];
  view.folds_constants = false;
  EXPECT_EQ(screen.lines(view)[line_of(screen.lines(view), "memory_total")].find("constant"), std::string::npos);
}

TEST(TopScreen, OnWideTerminalsProcessesAreBesideTheMetrics) {
  Screen screen;
  TopView view;
  view.columns = 160;
  const std::vector<std::string> lines = screen.lines(view);
  EXPECT_NE(lines[1].find("GPU processes"), std::string::npos) << lines[1];
  EXPECT_EQ(lines[1].rfind("rank  process", 0), 0U);
  EXPECT_EQ(line_of(lines, "Program"), 4U) << "behind the recorded processes";
}

TEST(TopScreen, RecordedProcessesHaveTheirCellsWholeAndDropColumnsThatAreWide) {
  Screen screen;
  TopView view;
  view.columns = 100;
  std::vector<std::string> lines = screen.lines(view);
  EXPECT_EQ(lines[1], "rank  process  host                 cpu   memory    frame  ");
  EXPECT_EQ(lines[2], "   0     4711  node-with-a-name  93.1 %  1.70 GB  16.7 ms  ▁▂");
  EXPECT_EQ(lines[3], "   1       12  node                   -  20.1 MB        -  ");
  view.columns = 40;
  lines = screen.lines(view);
  EXPECT_EQ(lines[1], "rank  process     cpu    frame  ");
  EXPECT_EQ(lines[2], "   0     4711  93.1 %  16.7 ms  ▁▂");
}

TEST(TopScreen, ScrollingStopsAtBothEndsAndTheTitleStays) {
  Screen screen;
  TopView view;
  view.columns = 40;
  view.rows = 10;
  const std::vector<std::string> top = screen.lines(view);
  ASSERT_EQ(top.size(), 10U);
  view.scroll = 1'000'000;
  const std::vector<std::string> end = screen.lines(view);
  ASSERT_EQ(end.size(), 10U);
  EXPECT_EQ(end.front(), top.front());
  TopView all;
  all.columns = 40;
  const std::vector<std::string> whole = screen.lines(all);
  EXPECT_EQ(end.back(), whole.back());
  EXPECT_EQ(view.scroll, whole.size() - 10);
  view.rows = 1;
  EXPECT_EQ(screen.lines(view).size(), 1U);
}

TEST(TopScreen, AFilterShowsWhatHasItInItsNameConstantOrNot) {
  Screen screen;
  TopView view;
  view.columns = 100;
  view.filter = "SWAP";
  const std::vector<std::string> lines = screen.lines(view);
  ASSERT_EQ(lines.size(), 6U) << "title, recorded processes, heading, row";
  EXPECT_EQ(lines[5].rfind("swap_used", 0), 0U);
  view.filter = "nothing like it";
  screen.data.recorded.clear();
  EXPECT_EQ(screen.lines(view).at(1), std::string("nothing has this in its name") + std::string(72, ' '));
}

TEST(TopScreen, ColoursChangeNoText) {
  Screen screen;
  for (const std::size_t columns : {40U, 80U, 160U}) {
    TopView plain;
    plain.columns = columns;
    TopView coloured = plain;
    coloured.has_colour = true;
    std::string text;
    bool is_text = true;
    for (const std::string& line : screen.lines(coloured)) {
      for (const char c : line + "\n") {
        is_text = is_text && c != '\033';
        text += is_text ? std::string(1, c) : "";
        is_text = is_text || c == 'm';
      }
    }
    std::string expected;
    for (const std::string& line : screen.lines(plain)) {
      expected += line + "\n";
    }
    EXPECT_EQ(text, expected);
  }
}

/// kymo top on a terminal of its own.
class TopOnTerminal {
 public:
  TopOnTerminal(unsigned short columns, unsigned short rows, bool has_colour)
      : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(::grantpt(master_.get()), 0);
    EXPECT_EQ(::unlockpt(master_.get()), 0);
    resize(columns, rows);
    const std::string name = ::ptsname(master_.get());
    slave_ = base::FileDescriptor(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    ::tcgetattr(slave_.get(), &before_);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      const int terminal = ::open(name.c_str(), O_RDWR);
      ::dup2(terminal, STDIN_FILENO);
      ::dup2(terminal, STDOUT_FILENO);
      ::dup2(terminal, STDERR_FILENO);
      ::setenv("TERM", "xterm-256color", 1);
      has_colour ? ::unsetenv("NO_COLOR") : ::setenv("NO_COLOR", "1", 1);
      ::execl(KYMO_COMMAND, KYMO_COMMAND, "top", "-i", "0.05", "--sensors", "memory", static_cast<char*>(nullptr));
      ::_exit(127);
    }
  }
  TopOnTerminal(const TopOnTerminal&) = delete;
  TopOnTerminal& operator=(const TopOnTerminal&) = delete;
  ~TopOnTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void resize(unsigned short columns, unsigned short rows) const {
    const winsize size{rows, columns, 0, 0};
    ::ioctl(master_.get(), TIOCSWINSZ, &size);
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(::write(master_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void signal(int number) const { ::kill(pid_, number); }

  /// Reads until a text comes; all since the last call, or nothing if it does not come.
  std::string read_until(const std::string& text) {
    std::string read;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline && read.find(text) == std::string::npos) {
      pollfd ready{master_.get(), POLLIN, 0};
      std::array<char, 4096> bytes{};
      if (::poll(&ready, 1, 1'000) <= 0) {
        continue;
      }
      const ssize_t count = ::read(master_.get(), bytes.data(), bytes.size());
      if (count <= 0) {
        return {};
      }
      read.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return read.find(text) != std::string::npos ? read : std::string();
  }
  /// Its exit status; minus a signal's number.
  int wait() {
    int status = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        return -1;
      }
      std::this_thread::yield();
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  [[nodiscard]] bool is_as_before() const {
    termios now{};
    ::tcgetattr(slave_.get(), &now);
    return now.c_lflag == before_.c_lflag && now.c_cc[VMIN] == before_.c_cc[VMIN];
  }

 private:
  base::FileDescriptor master_;
  base::FileDescriptor slave_;
  termios before_{};
  pid_t pid_ = 0;
};

constexpr const char* end_of_display = "\033[?1049l";

TEST(TopOnATerminal, HoweverItEndsTheTerminalIsAsBefore) {
  for (const int number : {0, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    TopOnTerminal top(40, 10, number == 0);
    const std::string shown = top.read_until("memory_");
    EXPECT_NE(shown.find("\033[?1049h"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("\033[1;36m") != std::string::npos, number == 0) << "NO_COLOR is respected";
    EXPECT_FALSE(top.is_as_before());
    if (number == 0) {
      top.type("q");
    } else {
      top.signal(number);
    }
    EXPECT_NE(top.read_until(end_of_display), "") << number;
    EXPECT_EQ(top.wait(), 0) << number;
    EXPECT_TRUE(top.is_as_before()) << number;
  }
}

TEST(TopOnATerminal, KeysAndSizesTakeEffect) {
  TopOnTerminal top(80, 24, false);
  EXPECT_NE(top.read_until("memory_available"), "");
  top.type("?");
  EXPECT_NE(top.read_until("this help"), "");
  top.type("?/swap");
  EXPECT_NE(top.read_until("/swap_"), "");
  top.type("\x7f\x7f\x7f\x7fxyz\r");
  EXPECT_NE(top.read_until("nothing has this"), "");
  top.type("\033");
  EXPECT_NE(top.read_until("memory_available"), "");
  top.resize(200, 50);
  EXPECT_NE(top.read_until(std::string(100, ' ') + "  q end"), "") << "the title takes the width";
  top.type("q");
  EXPECT_NE(top.read_until(end_of_display), "");
  EXPECT_EQ(top.wait(), 0);
}

/// The latest whole picture on a terminal of so many columns, which stands between two "\033[H". A cursor behind a line
/// that fills its row is on the last column: what erases to the end erases that.
std::vector<std::string> lines_of(const std::string& written, std::size_t columns) {
  const std::size_t end = written.rfind("\033[H");
  const std::size_t begin = end != std::string::npos && end > 0 ? written.rfind("\033[H", end - 1) : std::string::npos;
  std::vector<std::string> lines;
  if (begin == std::string::npos) {
    return lines;
  }
  std::string line;
  for (std::size_t at = begin + 3; at < end; ++at) {
    if (written[at] == '\033') {
      at = written.find_first_of("mKJ", at);
      if (written[at] != 'm' && command::width_of(line) == columns) {
        line.pop_back();
      }
    } else if (written[at] == '\n') {
      lines.push_back(std::exchange(line, {}));
    } else if (written[at] != '\r') {
      line += written[at];
    }
  }
  if (!line.empty()) {
    lines.push_back(line);
  }
  return lines;
}

/// The first word of each line.
std::vector<std::string> names_in(const std::vector<std::string>& lines) {
  std::vector<std::string> names;
  for (const std::string& line : lines) {
    names.push_back(line.substr(0, line.find(' ')));
  }
  return names;
}

TEST(TopOnATerminal, PageAndEndKeysMoveIt) {
  TopOnTerminal top(80, 50, false);
  std::string title;
  const auto shows = [&top, &title](const auto& holds) {
    std::vector<std::string> names;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::string written;
    do {
      written += top.read_until("\033[H");
      const std::vector<std::string> lines = lines_of(written, 80);
      title = lines.empty() ? "" : lines.front();
      names = names_in(lines);
    } while (!holds(names) && std::chrono::steady_clock::now() < deadline);
    return names;
  };
  ASSERT_FALSE(shows([](const auto& names) { return !names.empty(); }).empty());
  EXPECT_EQ(title.substr(title.size() - 6), "? help") << "the last column is shown";
  // Which lines there are does not change: no process has this in its name, and what is constant is not folded.
  top.type("/memory_\r");
  const std::vector<std::string> expected_all{"kymo",          "Memory",           "memory_used",
                                              "memory_used",   "memory_available", "memory_total",
                                              "memory_cached", "memory_dirty"};
  const std::vector<std::string> all = shows([&](const auto& names) { return names.size() == expected_all.size(); });
  ASSERT_EQ(std::set<std::string>(all.begin(), all.end()),
            std::set<std::string>(expected_all.begin(), expected_all.end()));
  constexpr std::size_t rows = 4;
  constexpr std::size_t page = rows - 2;
  top.resize(80, rows);
  const auto expect_from = [&](std::size_t first, const char* what) {
    std::vector<std::string> expected{all.front()};
    expected.insert(expected.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                    all.begin() + static_cast<std::ptrdiff_t>(first + rows - 1));
    EXPECT_EQ(shows([&](const auto& names) { return names == expected; }), expected) << what;
  };
  expect_from(1, "at first");
  top.type("\033[6~");
  expect_from(1 + page, "PgDn");
  top.type("\033[5~\033[99;5~");
  expect_from(1, "PgUp, and a key without a meaning");
  top.type("\033[F");
  expect_from(all.size() - (rows - 1), "End");
  top.type("\033[A");
  expect_from(all.size() - rows, "up");
  top.type("\033[H");
  expect_from(1, "Home");
  top.type("q");
  EXPECT_NE(top.read_until(end_of_display), "");
  EXPECT_EQ(top.wait(), 0);
}

}  // namespace
}  // namespace kymo::test
