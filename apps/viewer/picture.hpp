// Renders the window's content to a file without a window.
#pragma once

#include "options.hpp"

namespace kymo::viewer {

/// Draws until everything is read and writes options.screenshot. Throws std::runtime_error on failure.
void write_picture(const Options& options);

}  // namespace kymo::viewer
