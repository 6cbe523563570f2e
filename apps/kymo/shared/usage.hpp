// What a command says of its own command line.
#pragma once

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

#include "base/text/plain_text.hpp"

namespace kymo::command {

/// Prints the help that was asked for, or what is wrong with the command line. Its words cannot steer the terminal.
/// Returns true for help.
inline bool print_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream complaint;
  const bool is_help = app.exit(error, std::cout, complaint) == 0;
  std::string text;
  base::append_plain_text(text, complaint.str(), "\n\t");
  std::fwrite(text.data(), 1, text.size(), stderr);
  return is_help;
}

}  // namespace kymo::command
