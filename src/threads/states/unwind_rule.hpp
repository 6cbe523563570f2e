// How the registers of a function's caller are found: DWARF's call frame information of one place, in the few forms
// that compilers write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kymo::threads {

// Registers by DWARF's numbers. `program_counter` is the place of a frame itself; `return_address` has that of its
// caller.
#ifdef __aarch64__
/// AArch64's; the last is DWARF's for none of them ("DWARF for the Arm 64-bit Architecture").
inline constexpr std::size_t register_count = 33;
inline constexpr std::uint8_t frame_pointer = 29;
inline constexpr std::uint8_t return_address = 30;
inline constexpr std::uint8_t stack_pointer = 31;
inline constexpr std::uint8_t program_counter = 32;
#else
/// x86-64's (its System V ABI).
inline constexpr std::size_t register_count = 17;
inline constexpr std::uint8_t frame_pointer = 6;
inline constexpr std::uint8_t stack_pointer = 7;
inline constexpr std::uint8_t return_address = 16;
inline constexpr std::uint8_t program_counter = return_address;
#endif

/// A value in terms of the frame: `base` + `offset`, or what the memory there holds.
struct UnwindValue {
  enum class Kind : std::uint8_t {
    unknown,
    none,  ///< of the return address: nothing called the function
    same,
    sum,
    memory,
  };
  static constexpr std::uint8_t frame_address = register_count;  ///< as the base: the canonical frame address

  Kind kind = Kind::unknown;
  std::uint8_t base = 0;  ///< a register, or frame_address
  std::int32_t offset = 0;
};

/// For the places of a file from `begin` to before `end`.
struct UnwindRule {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  UnwindValue frame;  ///< the canonical frame address: the stack pointer in the caller
  std::array<UnwindValue, register_count> registers{};
  bool is_signal =
      false;  ///< the kernel's frame of a handler: its caller was interrupted at the place, and called nothing
};

}  // namespace kymo::threads
