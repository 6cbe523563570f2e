// The DWARF expressions of call frame information, as far as compilers and C libraries write them there.
#pragma once

#include <cstdint>
#include <span>

#include <elfutils/libdw.h>

#include "threads/states/unwind_rule.hpp"

namespace kymo::threads {

enum class ExpressionKind : std::uint8_t {
  value,     ///< yields the value
  location,  ///< yields where the value is, unless it ends in DW_OP_stack_value
};

/// Unknown if it is of another form. `place` stands for the program counter, of which x86-64's PLTs read the low bits;
/// `depends_on_place` is set if it does.
[[nodiscard]] UnwindValue reduce_expression(std::span<const Dwarf_Op> operations, ExpressionKind kind,
                                            std::uint64_t place, bool& depends_on_place);

}  // namespace kymo::threads
