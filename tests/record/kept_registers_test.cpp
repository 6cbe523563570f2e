#include "record/hooks/kept_registers.hpp"

#include <array>

#include <gtest/gtest.h>

namespace kymo::record {
namespace {

TEST(KeptRegisters, TheWorksResultComesBack) {
  find_registers_to_keep();
  EXPECT_EQ(with_registers_kept([] { return 7; }), 7);
  int runs = 0;
  with_registers_kept([&runs] { ++runs; });
  EXPECT_EQ(runs, 1);
}

#ifdef __x86_64__

using Vector = std::array<float, 8>;
using Half = std::array<float, 4>;

/// What the upper half of ymm0 holds after a call, if ymm0 held `values` before. XRay keeps the lower half.
__attribute__((target("avx"), noinline)) Half after_call(void (*function)(), const Vector& values) {
  Vector after{};
  __asm__ volatile(
      "mov %%rsp, %%rbx\n"
      "sub $128, %%rsp\n"  // below what this function may keep under its stack pointer
      "and $-64, %%rsp\n"
      "vmovups (%[values]), %%ymm0\n"
      "call *%[function]\n"
      "vmovups %%ymm0, (%[after])\n"
      "mov %%rbx, %%rsp\n"
      :
      : [values] "r"(values.data()), [function] "r"(function), [after] "r"(after.data())
      : "memory", "cc", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return {after[4], after[5], after[6], after[7]};
}

/// As the C library's memcpy does.
__attribute__((target("avx"), noinline)) void use_vectors() {
  __asm__ volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n vzeroupper" : : : "xmm0");
}

TEST(KeptRegisters, UpperHalvesOfVectorsSurviveWorkThatUsesThem) {
  if (__builtin_cpu_supports("avx") == 0) {
    GTEST_SKIP() << "this processor has no AVX";
  }
  find_registers_to_keep();
  const Vector values{1, 2, 3, 4, 5, 6, 7, 8};
  const Half upper{5, 6, 7, 8};
  EXPECT_NE(after_call(use_vectors, values), upper) << "or this test shows nothing";
  EXPECT_EQ(after_call([] { with_registers_kept([] { use_vectors(); }); }, values), upper);
}

#endif

}  // namespace
}  // namespace kymo::record
