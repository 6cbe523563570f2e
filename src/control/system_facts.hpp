// What each operating system has to be asked for in its own way when a capture's header is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::control {

/// Texts are empty where they cannot be read.
struct SystemFacts {
  std::string command_line;                                 ///< arguments, a space between them
  std::string executable;                                   ///< its path
  std::string build_id;                                     ///< of the executable, in hexadecimal digits
  std::string cpu;                                          ///< the processor's model
  std::vector<std::pair<std::string, std::string>> others;  ///< further facts by their keys
};

/// Reads them anew. Thread safe; takes some file reads or system calls.
[[nodiscard]] SystemFacts read_system_facts();

/// Two lower-case digits for each byte.
[[nodiscard]] inline std::string to_hex(const unsigned char* bytes, std::size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) {
    hex.push_back(digits[bytes[i] >> 4U]);
    hex.push_back(digits[bytes[i] & 0xFU]);
  }
  return hex;
}

}  // namespace kymo::control
