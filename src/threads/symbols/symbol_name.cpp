#include "threads/symbols/symbol_name.hpp"

#include "record/names/symbols.hpp"

#ifdef KYMO_HAS_LIBIBERTY
#include <csetjmp>
#include <cstddef>

// Its header else declares a basename() that contradicts the C library's.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>
#endif

namespace kymo::threads {
namespace {

#ifdef KYMO_HAS_LIBIBERTY

constexpr std::size_t longest_name = 4096;

struct Output {
  std::jmp_buf is_full;
  std::string text;
};

/// A symbol of some hundred bytes may stand for a name of gigabytes, and only this ends its writing.
void append(const char* part, std::size_t size, void* opaque) {
  auto& output = *static_cast<Output*>(opaque);
  if (size > longest_name - output.text.size()) {
    std::longjmp(output.is_full, 1);  // NOLINT(cert-err52-cpp): out of C functions
  }
  output.text.append(part, size);
}

/// False if it is no symbol of Rust, or its name is too long. The output is the caller's: this returns twice.
bool write_rust_name(const std::string& symbol, Output& output) {
  // NOLINTNEXTLINE(cert-err52-cpp): see append()
  return setjmp(output.is_full) == 0 && rust_demangle_callback(symbol.c_str(), 0, append, &output) != 0;
}

std::string find_rust_name(const std::string& symbol) {
  Output output;
  output.text.reserve(longest_name);  // so that nothing is thrown out of C functions
  return write_rust_name(symbol, output) ? output.text : std::string();
}

#else

std::string find_rust_name(const std::string& /*symbol*/) {
  return {};
}

#endif

}  // namespace

std::string name_of_symbol(const std::string& symbol) {
  std::string name = symbol.rfind("_R", 0) == 0 || symbol.rfind("_ZN", 0) == 0 ? find_rust_name(symbol) : std::string();
  return name.empty() ? record::demangle(symbol).qualified : name;
}

}  // namespace kymo::threads
