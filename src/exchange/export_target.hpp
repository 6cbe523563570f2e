// What an export of a timeline may overwrite.
#pragma once

#include <string_view>

#include <kymo/exchange.hpp>
#include <kymo/timeline.hpp>

#include "exchange/replacing_file.hpp"

namespace kymo::exchange {

/// As the options say, and never one of the timeline's captures.
inline Replacing replacing(const Timeline& timeline, const ExportOptions& options, std::string_view mark) {
  Replacing target{mark, options.replaces_any, {}};
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    target.inputs.push_back(timeline.capture(i).path());
  }
  return target;
}

}  // namespace kymo::exchange
