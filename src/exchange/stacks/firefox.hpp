// Sampled stacks in the processed format of the Firefox Profiler (profiler.firefox.com), version 48.
//
//   { "meta": {...}, "libs": [...], "threads": [ thread, ... ] }
//
// A thread holds tables as objects of columns: samples refer to stacks, stacks to frames and to the stack of their
// caller, frames to functions, functions to resources (files) and texts.
#pragma once

#include <string_view>

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// The beginning of every file, by which kymo recognises its own.
inline constexpr std::string_view firefox_mark = R"({"meta":{"product":"kymo")";

/// Takes 16 bytes a sample.
ExportWriter write_firefox;

}  // namespace kymo::exchange
