// kymo-viewer: shows captures in a window. Started by `kymo view`.
#include <cstdio>
#include <exception>

#include "apps/kymo/shared/flush_output.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "window.hpp"

int main(int argc, char** argv) {
  try {
    const kymo::viewer::Parsed parsed = kymo::viewer::parse_options(argc, argv);
    if (!parsed.options) {
      kymo::command::flush_output();
      return parsed.exit_code;
    }
    if (parsed.options->screenshot.empty()) {
      kymo::viewer::show_window(*parsed.options);
    } else {
      kymo::viewer::write_picture(*parsed.options);
      constexpr int damaged = 3;  // as in all commands; a window shows what there is, and may follow it
      return parsed.options->is_damaged ? damaged : 0;
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "kymo: %s\n", failure.what());
    return 1;
  }
  return 0;
}
