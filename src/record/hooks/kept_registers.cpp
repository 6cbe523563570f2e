#include "record/hooks/kept_registers.hpp"

#ifdef __x86_64__
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cpuid.h>
#endif

namespace kymo::record {

#ifdef __x86_64__

namespace {

// Intel's manual, volume 1, chapter 13: bits of the state components, and the layout of the area.
constexpr std::uint64_t vector_state = 0b1110'0110;  // SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM
constexpr std::size_t area_bytes = 2816;             // as far as those components reach on any processor so far
constexpr std::size_t header_offset = 512;
constexpr std::size_t header_words = 8;

/// 0 without AVX, where there is no more than XRay keeps.
constinit std::atomic<std::uint64_t> kept_state{0};

std::uint64_t read_state_to_keep() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0 || (ecx & bit_AVX) == 0) {
    return 0;
  }
  unsigned enabled = 0;
  asm("xgetbv" : "=a"(enabled), "=d"(edx) : "c"(0));
  std::uint64_t kept = enabled & vector_state;
  for (unsigned component = 2; component < 8; ++component) {
    // eax and ebx: its size and offset. One that does not fit cannot be kept.
    if ((kept >> component & 1U) != 0 &&
        (__get_cpuid_count(0xD, component, &eax, &ebx, &ecx, &edx) == 0 || ebx + eax > area_bytes)) {
      kept &= ~(std::uint64_t{1} << component);
    }
  }
  return kept;
}

}  // namespace

void find_registers_to_keep() noexcept {
  kept_state.store(read_state_to_keep(), std::memory_order_relaxed);
}

// What AddressSanitizer adds to a function with such an array uses vectors before its first line and after its last
// one.
[[gnu::no_sanitize_address]] void detail_of_kept_registers::call(void (*work)(void* context), void* context) noexcept {
  const auto kept = static_cast<std::uint32_t>(kept_state.load(std::memory_order_relaxed));
  if (kept == 0) {
    work(context);
    return;
  }
  alignas(64) unsigned char area[area_bytes];
  // The processor refuses an area with anything else in its header.
  for (std::size_t i = 0; i < header_words; ++i) {
    reinterpret_cast<volatile std::uint64_t*>(area + header_offset)[i] = 0;
  }
  asm volatile("xsave64 %0" : "+m"(area) : "a"(kept), "d"(0) : "memory");
  work(context);
  asm volatile("xrstor64 %0" : : "m"(area), "a"(kept), "d"(0) : "memory");
}

#else

void find_registers_to_keep() noexcept {}

void detail_of_kept_registers::call(void (*work)(void* context), void* context) noexcept {
  work(context);
}

#endif

}  // namespace kymo::record
