// The viewer's command line options.
#include "options.hpp"

#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>

#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "offscreen.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::viewer {

namespace {

std::vector<std::string> tab_words() {
  std::vector<std::string> words;
  for (const auto& tab : panel::make_tabs()) {
    words.push_back(panel::word_of(*tab));
  }
  return words;
}

constexpr const char* footer = R"(Several captures share one time axis. Captures that still grow are followed.
Files dropped on the window are shown instead of what it shows; a button adds them to it.
Size, place, theme and the columns of tables are remembered in $XDG_CONFIG_HOME/kymo/viewer.ini (~/.config/kymo).
? lists what mouse and keyboard do.

Examples:
  kymo view run.kymo
  kymo view captures/
  kymo view --at 12.5s run.kymo
  kymo view run.kymo#frame=122
  kymo view --base before.kymo after.kymo
  kymo view --screenshot run.png --size 1600x900 --time 2s..2500ms run.kymo)";

/// A validator with explanatory messages.
template <typename Parse>
CLI::Validator make_check(Parse parse, const char* what) {
  return CLI::Validator([parse, what](const std::string& text) { return parse(text) ? std::string() : text + what; },
                        "");
}

void add_options(CLI::App& app, Options& options) {
  static const std::map<std::string, Theme> themes{{"dark", Theme::dark}, {"light", Theme::light}};
  app.add_option(
      "PATH", options.paths,
      "Captures, or directories of captures; run.kymo#t=2s..2.5s: that stretch of it; run.kymo#frame=122: with "
      "that frame pinned");
  CLI::Option* const base =
      app.add_option("--base", options.base,
                     "Compare with this capture, of before a change: both beside each other, with verdicts and "
                     "distributions")
          ->option_text("CAPTURE");
  static const std::map<std::string, panel::Align> alignments{
      {"start", panel::Align::start}, {"frame", panel::Align::frame}, {"sync", panel::Align::sync_point}};
  app.add_option_function<panel::Align>(
         "--align", [&options](const panel::Align& align) { options.align = align; },
         "What of both stands at the same place: start, frame (the frame pinned by --at, else the one in the middle), "
         "sync (start)")
      ->transform(CLI::CheckedTransformer(alignments).description(""))
      ->option_text("WHAT")
      ->needs(base);
  app.add_option_function<Theme>(
         "--theme", [&options](const Theme& theme) { options.theme = theme; },
         "dark or light (what it was the last time, dark at first)")
      ->transform(CLI::CheckedTransformer(themes).description(""))
      ->option_text("THEME");
  app.add_option_function<std::string>(
         "--at", [&options](const std::string& text) { options.at_ns = command::parse_duration(text); },
         "Pin the frame at this time, counted from the start of the recording: 12.5s, 300ms")
      ->option_text("TIME")
      ->check(make_check(command::parse_duration, " is no time: 12.5s, 300ms, 2min"));
  app.add_option_function<std::string>(
         "--time", [&options](const std::string& text) { options.time = command::parse_time(text); },
         "Show this stretch, counted from the start of the recording: 1.5s..2s, 250ms.., ..3min")
      ->option_text("FROM..TO")
      ->check(make_check(command::parse_time,
                         " is no stretch of time: 1.5s..2s, 250ms.. or ..3min, the earlier end first, units ns, us, "
                         "ms, s, min, h"));
  app.add_option_function<std::string>(
         "--tab", [&options](const std::string& word) { options.tab = word; },
         "Open this tab below the chart: " + CLI::detail::join(tab_words()))
      ->option_text("TAB")
      ->check(command::is_one_of(tab_words(), "tab"));
  app.add_option_function<std::string>(
         "--size", [&options](const std::string& text) { options.size = parse_size(text); },
         "Of the window or the picture, in pixels (what it was the last time; 1600x900, or what the screen has room for)")
      ->option_text("WxH")
      ->check(make_check(parse_size, " is no size: 1600x900; from 64x64 to 16384x16384"));
  app.add_option("--scale", options.scale, "Of text and everything else, 0.5 to 8 (what the monitor asks for; 1)")
      ->option_text("FACTOR")
      ->check(command::is_between(0.5, 8.0));
  CLI::Option* const screenshot =
      app.add_option("--screenshot", options.screenshot,
                     "Write a picture instead of opening a window; needs no display. Waits until all is read")
          ->option_text("PNG");
  app.add_flag("--force", options.is_forced, "Overwrite a file that is no picture of kymo's")->needs(screenshot);
  app.add_flag("--of-damaged", options.is_damaged)->group("");  // hidden: only `kymo view` knows
  app.add_option("--quit-after", options.quit_after,
                 "Draw so many frames, one after the other, and quit: tells whether this machine can show the window")
      ->option_text("FRAMES")
      ->check(command::is_between(1U, 1'000'000U))
      ->excludes(screenshot);
}

/// Takes a mark and what follows off a path, as links to `kymo serve` end, unless a file has that name.
std::optional<std::string> take_mark(std::string& path, std::string_view mark) {
  const std::size_t at = path.rfind(mark);
  std::error_code missing;
  if (at == std::string::npos || std::filesystem::exists(path, missing)) {
    return std::nullopt;
  }
  std::string text = path.substr(at + mark.size());
  path.resize(at);
  return text;
}

/// Takes "#t=FROM..TO" or "#frame=NUMBER" off a path.
void take_place(std::string& path, Options& options) {
  if (const auto text = take_mark(path, "#t=")) {
    options.time = command::parse_time(*text);
    if (!options.time) {
      throw CLI::ValidationError("PATH", *text + " is no stretch of time: 1.5s..2s, 250ms.. or ..3min");
    }
  } else if (const auto frame = take_mark(path, "#frame=")) {
    options.frame = command::parse_number<FrameNumber>(*frame);
    if (options.frame.value_or(0) == 0) {
      throw CLI::ValidationError("PATH", *frame + " is no number of a frame: they are counted from 1");
    }
  }
}

}  // namespace

std::optional<Size> parse_size(const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    return std::nullopt;
  }
  const auto width = command::parse_number<int>(std::string_view(text).substr(0, cross));
  const auto height = command::parse_number<int>(std::string_view(text).substr(cross + 1));
  constexpr int least = 64;
  constexpr int most = offscreen::Offscreen::most_pixels;
  if (!width || !height || *width < least || *height < least || *width > most || *height > most) {
    return std::nullopt;
  }
  return Size{*width, *height};
}

Parsed parse_options(int count, char** words) {
  CLI::App app("Shows captures in a window: frames, metrics, flame chart and statistics.", "kymo view");
  app.footer(footer);
  app.get_formatter()->column_width(34);
  Options options;
  add_options(app, options);
  command::refuse_empty_values(app);
  constexpr int usage = 2;
  char** const end = words + count;
  if (char** const bare = command::find_bare_option(words, end); bare != end) {
    command::say("kymo view: {}: needs a value behind the equals sign\n", *bare);
    return {std::nullopt, usage};
  }
  try {
    app.parse(count, words);
    for (std::string& path : options.paths) {
      take_place(path, options);
    }
    if (!options.base.empty() && options.paths.empty()) {
      throw CLI::ValidationError("--base", "needs a capture to compare with: kymo view --base before.kymo after.kymo");
    }
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, command::print_usage(app, error) ? 0 : usage};
  }
  return {options, 0};
}

}  // namespace kymo::viewer
