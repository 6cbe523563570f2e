// The window's content as a picture, without a window.
#pragma once

#include "options.hpp"

namespace kymo::viewer {

/// Draws until everything is read and writes options.screenshot. std::runtime_error where that cannot be done.
void write_picture(const Options& options);

}  // namespace kymo::viewer
