#include "capture/crc32c.hpp"

#include <array>

#include "capture/bytes.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace kymo::capture {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;

// Eight tables: entry [k][b] is what byte b contributes when k more bytes of the same word follow it.
constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    }
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8U) ^ tables[0][shorter & 0xFFU];
    }
  }
  return tables;
}

constexpr auto tables = make_tables();

std::uint32_t update_by_table(std::uint32_t crc, std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t word = load<std::uint64_t>(at) ^ crc;
    crc = 0;
    for (unsigned k = 0; k < 8; ++k) {
      crc ^= tables[7 - k][(word >> (8 * k)) & 0xFFU];
    }
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8U) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xFFU];
  }
  return crc;
}

#if defined(__x86_64__)

[[gnu::target("sse4.2")]] std::uint32_t update_by_instruction(std::uint32_t crc, std::span<const std::byte> bytes) {
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
  return __builtin_cpu_supports("sse4.2") != 0;
}

#elif defined(__aarch64__) && defined(__linux__)

// Written as assembly: arm_acle.h offers the intrinsics only where the whole file is compiled for ARMv8 with CRC.
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

bool has_instruction() {
  constexpr unsigned long hwcap_crc32 = 1UL << 7U;
  return (::getauxval(AT_HWCAP) & hwcap_crc32) != 0;
}

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
