// kymo-viewer: shows captures in a window. Started by `kymo view`.
#include <cstdio>
#include <exception>

#include "options.hpp"
#include "picture.hpp"
#include "window.hpp"

int main(int argc, char** argv) {
  const kymo::viewer::Parsed parsed = kymo::viewer::parse_options(argc, argv);
  if (!parsed.options) {
    return parsed.exit_code;
  }
  try {
    if (parsed.options->screenshot.empty()) {
      kymo::viewer::show_window(*parsed.options);
    } else {
      kymo::viewer::write_picture(*parsed.options);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "kymo: %s\n", failure.what());
    return 1;
  }
  return 0;
}
