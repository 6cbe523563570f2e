// The subcommands available on this system.
#pragma once

#include <span>

#include "apps/kymo/shared/command.hpp"

namespace kymo::command {

/// In the order of `kymo --help`.
[[nodiscard]] std::span<CommandAdder* const> commands() noexcept;

}  // namespace kymo::command
