#include "capture/format/crc32c.hpp"

#include <array>

#include "capture/format/bytes.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace kymo::capture {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;

// A byte's contribution. One table instead of eight, since it serves only processors without the instruction and goes
// into every recording program.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    }
    table[byte] = crc;
  }
  return table;
}

constexpr auto table = make_table();

std::uint32_t update_by_table(std::uint32_t crc, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    crc = (crc >> 8U) ^ table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
  }
  return crc;
}

#if defined(__x86_64__)

[[gnu::target("sse4.2,crc32")]] std::uint32_t update_by_instruction(std::uint32_t crc,
                                                                    std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t wide = crc;
  for (; left >= 8; left -= 8, at += 8) {
    wide = _mm_crc32_u64(wide, load<std::uint64_t>(at));
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; left > 0; --left, ++at) {
    crc = _mm_crc32_u8(crc, std::to_integer<std::uint8_t>(*at));
  }
  return crc;
}

bool has_instruction() {
  // Not __builtin_cpu_supports, which adds a table of all processors.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_SSE4_2) != 0;
}

#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))

// In assembly, because arm_acle.h offers the intrinsics only if the whole file is compiled for ARMv8 with CRC.
std::uint32_t update_by_instruction(std::uint32_t crc, std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(load<std::uint64_t>(at)));
  }
  for (; left > 0; --left, ++at) {
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(std::to_integer<std::uint32_t>(*at)));
  }
  return crc;
}

#if defined(__APPLE__)

bool has_instruction() {
  return true;  // every Mac of this architecture has it
}

#else

bool has_instruction() {
  constexpr unsigned long hwcap_crc32 = 1UL << 7U;
  return (::getauxval(AT_HWCAP) & hwcap_crc32) != 0;
}

#endif

#else

std::uint32_t update_by_instruction(std::uint32_t crc, std::span<const std::byte> bytes) {
  return update_by_table(crc, bytes);
}

bool has_instruction() {
  return false;
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  static const bool by_instruction = has_instruction();
  return ~(by_instruction ? update_by_instruction(~previous, bytes) : update_by_table(~previous, bytes));
}

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t previous) {
  return ~update_by_table(~previous, bytes);
}

}  // namespace kymo::capture
