#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace example {

std::optional<ScreenOptions> parse_screen_options(const char* program, int count, char** arguments) {
  ScreenOptions options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    bool is_understood = true;
    if (argument == "--help" || argument == "-h") {
      options.wants_help = true;
    } else if (argument == "--frames") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.frames);
      is_understood = !value.empty() && error == std::errc() && end == value.data() + value.size();
      ++i;
    } else if (argument == "--screenshot") {
      options.screenshot = value;
      is_understood = !value.empty();
      ++i;
    } else if (argument.substr(0, 1) == "-") {
      is_understood = false;
    } else {
      options.paths.emplace_back(argument);
    }
    if (!is_understood) {
      std::fprintf(stderr, "%s: %s is not understood; see --help\n", program, std::string(argument).c_str());
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace example
