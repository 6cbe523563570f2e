// Names of functions by their symbols.
#pragma once

#include <string>

namespace kymo::threads {

/// The name as the source has it, of C++ without parameters; the symbol itself if it cannot be read. Names of Rust are
/// read with binutils' libiberty, if kymo was built with it. Trusts nothing in the symbol. One thread.
[[nodiscard]] std::string name_of_symbol(const std::string& symbol);

}  // namespace kymo::threads
