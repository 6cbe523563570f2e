// The command line of the attention example.
#pragma once

#include <cstdint>
#include <string>

#include "gate.hpp"

namespace attention {

struct Options {
  bool is_gated = false;
  GateOptions gate;
  std::uint64_t samples = 1000;
  std::uint64_t seed = 42;
  std::string csv;
  std::string witness;
  std::string metrics;
};

/// Throws std::invalid_argument for invalid options.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace attention
