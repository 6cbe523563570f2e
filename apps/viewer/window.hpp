// The viewer's window.
#pragma once

#include "options.hpp"

namespace kymo::viewer {

/// Opens the window and returns when it is closed. It is drawn again only where there is input or something new to see.
/// std::runtime_error where there is no display, or what the command line names cannot be opened.
void show_window(const Options& options);

}  // namespace kymo::viewer
