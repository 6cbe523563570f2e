// The functions that Clang's XRay prepared for patching (-fxray-instrument). Each has a few bytes of no effect at its
// entry and exits, which XRay turns into calls of a handler. A function that is not patched costs next to nothing.
//
// XRay: https://llvm.org/docs/XRay.html. Its runtime is linked into the executable, so kymo gets it from there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/hooks/function_table.hpp"

extern "C" {
/// Of XRay's runtime, in the executable's code made by kymo_instrument_functions(). See xray/xray_interface.h.
struct kymo_function_patches_v1 {
  int (*set_handler)(void (*handler)(std::int32_t number, int kind));
  int (*patch_function)(std::int32_t number);
  std::uintptr_t (*address_of)(std::int32_t number);
  std::size_t (*largest_number)();
};
}

namespace kymo::record {

/// What XRay calls a handler for; it has kinds that are neither.
enum class PatchKind : int { entry = 0, exit = 1, tail_call = 2, entry_with_argument = 3 };

class PatchedFunctions {
 public:
  using Handler = void (*)(std::int32_t number, int kind);

  constexpr PatchedFunctions() = default;

  /// Takes over the first runtime that is whole. Others are those of code that was linked without one.
  void set_runtime(const kymo_function_patches_v1& runtime) noexcept;

  /// Patches the functions that the patterns of their module and `sites` take, so that they call `handler`; those of
  /// the C++ library and of kymo never, since the handler may call them. Does nothing without a runtime, and after the
  /// first time. About 10 us per function. Says so once where a runtime was missing.
  void patch(FunctionTable& table, const SiteFilter& sites, Handler handler) noexcept;

  /// The function of a number; null if it is not patched. Async-signal-safe.
  [[nodiscard]] FunctionEntry* at(std::int32_t number) const noexcept {
    const Entries* const entries = entries_.load(std::memory_order_acquire);
    const auto index = static_cast<std::size_t>(number);
    return entries != nullptr && index < entries->count ? entries->at[index] : nullptr;
  }

 private:
  struct Entries {
    std::size_t count;
    FunctionEntry* at[1];  ///< `count` of them
  };

  kymo_function_patches_v1 runtime_{};
  std::atomic<bool> has_runtime_{false};
  std::atomic<bool> lacks_runtime_{false};
  std::atomic<bool> is_done_{false};
  std::atomic<const Entries*> entries_{nullptr};
};

}  // namespace kymo::record
