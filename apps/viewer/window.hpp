// The viewer's window.
#pragma once

#include "options.hpp"

namespace kymo::viewer {

/// Opens the window and returns when it is closed. Redraws only on input or new content. Throws std::runtime_error if
/// there is no display, or if an argument of the command line cannot be opened.
void show_window(const Options& options);

}  // namespace kymo::viewer
